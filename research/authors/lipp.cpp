// LIPP of the evaluation on disk.

#include "protocol.h"

#include "storage_management.h"

class Lipp : public authors::Index {
  public:
    std::size_t fewest_pairs() const override { return 2; }

    void build(const std::vector<authors::Pair>& pairs) override {
        std::vector<uint64_t> keys, values;
        for (const auto& [key, value] : pairs) {
            keys.push_back(key);
            values.push_back(value);
        }
        tree.init(name, true);
        tree.bulk_load_disk(keys.data(), values.data(), int(keys.size()));
    }

    std::optional<uint64_t> get(uint64_t key) override {
        uint64_t value = 0;
        int blocks = 0, items = 0, nodes = 0;
        return tree.searchv2(key, &value, &blocks, &items, &nodes) ? std::optional(value) : std::nullopt;
    }

    std::vector<uint64_t> scan(uint64_t key, std::size_t entries) override {
        std::vector<uint64_t> keys(entries);
        int blocks = 0, items = 0, nodes = 0;
        keys.resize(std::min<std::size_t>(tree.range_query_len(keys.data(), key, int(entries), &blocks, &items, &nodes),
                                          entries));
        return keys;
    }

    void insert(uint64_t key, uint64_t value) override {
        long long searching = 0, inserting = 0, restructuring = 0, maintaining = 0;
        int count = 0, updates = 0;
        tree.insertv2(key, value, &searching, &inserting, &restructuring, &maintaining, &count, &updates);
    }

    // Nodes hold entries and children alike: all count as leaves.
    bool is_inner(const std::string&, uint64_t) const override { return false; }

  private:
    StorageManager<uint64_t, uint64_t> tree;
    char name[6] = "index";
};

int main() {
    Lipp index;
    return authors::serve("lipp", index);
}
