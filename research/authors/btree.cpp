// The B+-tree of the evaluation on disk.

#include "protocol.h"

#include "b_tree.h"

class BPlusTree : public authors::Index {
  public:
    // The payloads in the tree are numbers of pairs: a scan returns payloads alone, and so they lead to the keys.
    void build(const std::vector<authors::Pair>& loaded) override {
        pairs = loaded;
        std::vector<LeafNodeIterm> items;
        for (std::size_t i = 0; i < pairs.size(); i++) items.push_back({pairs[i].first, i});
        tree = new BTree(ALL_DISK, true, name, true);
        // Leaves are filled to 80 %.
        leaves = (pairs.size() - 1) / std::size_t(MaxItemInLeafNode * 0.8) + 1;
        tree->bulk_load(items.data(), long(items.size()));
    }

    std::optional<uint64_t> get(uint64_t key) override {
        int blocks = 0;
        auto found = tree->get_index_iterator({key, true, key, true}, &blocks);
        return found.has_next(&blocks) ? std::optional(pairs.at(found.next()).second) : std::nullopt;
    }

    std::vector<uint64_t> scan(uint64_t key, std::size_t entries) override {
        std::vector<uint64_t> numbers(entries), keys;
        int blocks = 0;
        tree->scan(numbers.data(), key, int(entries), &blocks);
        for (uint64_t number : numbers) keys.push_back(pairs.at(number).first);
        return keys;
    }

    void insert(uint64_t key, uint64_t value) override {
        pairs.emplace_back(key, value);
        long long searching = 0, restructuring = 0, inserting = 0;
        int count = 0, updates = 0;
        tree->insert_key_entry(key, pairs.size() - 1, &searching, &restructuring, &inserting, &count, &updates);
    }

    // A bulk load writes the leaves from block 2 on, and the inner nodes behind them.
    bool is_inner(const std::string&, uint64_t block) const override { return block >= 2 + leaves; }

  private:
    BTree* tree = nullptr;
    char name[6] = "index";
    std::vector<authors::Pair> pairs;
    uint64_t leaves = 0;
};

int main() {
    BPlusTree index;
    return authors::serve("btree", index);
}
