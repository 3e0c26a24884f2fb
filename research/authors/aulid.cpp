// AULID in the authors' code, all on disk. Its header says LIPP for the inner nodes.

#include "protocol.h"

#include "storage_management.h"

class Aulid : public authors::Index {
  public:
    // Four leaves.
    std::size_t fewest_pairs() const override { return 613; }
    bool inserts_above() const override { return false; }

    void build(const std::vector<authors::Pair>& pairs) override {
        std::vector<uint64_t> keys, values;
        for (const auto& [key, value] : pairs) {
            keys.push_back(key);
            values.push_back(value);
        }
        tree.init(name, true, ALL_DISK);
        tree.bulk_load_entry(keys.data(), values.data(), int(keys.size()));
        // Leaves have 255 places, of which a bulk load fills 80 %.
        leaves = (keys.size() - 1) / 204 + 1;
    }

    std::optional<uint64_t> get(uint64_t key) override {
        uint64_t value = 0;
        int blocks = 0, inner = 0;
        return tree.lippb_search_entry(key, &value, &blocks, &inner) ? std::optional(value) : std::nullopt;
    }

    std::vector<uint64_t> scan(uint64_t key, std::size_t entries) override {
        std::vector<uint64_t> keys(entries);
        int blocks = 0, inner = 0;
        tree.lippb_scan_entry(key, keys.data(), &blocks, int(entries), &inner);
        return keys;
    }

    void insert(uint64_t key, uint64_t value) override {
        int blocks = 0, inner = 0;
        tree.insert_lippb_entry(key, value, &blocks, &inner);
    }

    // A bulk load writes the leaves from block 1 on, and the inner nodes behind them.
    bool is_inner(const std::string&, uint64_t block) const override { return block > leaves; }

  private:
    LIPPBTree<uint64_t, uint64_t> tree;
    char name[6] = "index";
    uint64_t leaves = 0;
};

int main() {
    Aulid index;
    return authors::serve("aulid", index);
}
