// ALEX of the evaluation on disk.

#include "protocol.h"

#include "alex.h"

class Alex : public authors::Index {
  public:
    bool inserts_below() const override { return false; }

    void build(const std::vector<authors::Pair>& pairs) override {
        std::vector<authors::Pair> values = pairs;
        tree = new alex::Alex<uint64_t, uint64_t>(ALL_DISK, true, inner, leaves);
        tree->bulk_load(values.data(), int(values.size()));
        if (tree->metanode.is_leaf == ALEXDataType)
            throw std::runtime_error("the authors' code does not read a tree of one node, as easy keys get");
        tree->sync_metanode(true);
        tree->sync_metanode(false);
    }

    std::optional<uint64_t> get(uint64_t key) override {
        uint64_t value = 0;
        int blocks = 0, levels = 0, inner_blocks = 0;
        const bool is_there = tree->get_leaf_disk(key, &value, &blocks, &levels, &inner_blocks);
        return is_there ? std::optional(value) : std::nullopt;
    }

    std::vector<uint64_t> scan(uint64_t key, std::size_t entries) override {
        std::vector<uint64_t> keys(entries);
        int blocks = 0;
        tree->scan(keys.data(), key, &blocks, int(entries));
        return keys;
    }

    void insert(uint64_t key, uint64_t value) override {
        long long searching = 0, inserting = 0, restructuring = 0, maintaining = 0;
        int count = 0;
        tree->insert_disk(key, value, &searching, &inserting, &restructuring, &maintaining, &count);
    }

    bool is_inner(const std::string& file, uint64_t) const override { return file == inner; }

  private:
    alex::Alex<uint64_t, uint64_t>* tree = nullptr;
    char inner[6] = "inner";
    char leaves[7] = "leaves";
};

int main() {
    Alex index;
    return authors::serve("alex", index);
}
