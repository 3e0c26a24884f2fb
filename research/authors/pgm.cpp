// The dynamic PGM of the evaluation on disk: error 64, base 8.

#include "protocol.h"

#include "pgm/pgm_index_dynamic.hpp"

class Pgm : public authors::Index {
    using Tree = pgm::DynamicPGMIndex<uint64_t, uint64_t>;

  public:
    bool scans_from_absent() const override { return false; }

    void build(const std::vector<authors::Pair>& pairs) override {
        largest = pairs.back().first;
        tree = new Tree(true, true, pairs.begin(), pairs.end());
    }

    std::optional<uint64_t> get(uint64_t key) override {
        int blocks = 0, inner = 0, levels = 0;
        return tree->find_on_disk(key, &blocks, &inner, &levels) ? std::optional(tree->found_payload) : std::nullopt;
    }

    std::vector<uint64_t> scan(uint64_t key, std::size_t entries) override {
        // Merged from level to level, to and fro between these, which can grow by `entries` with each of 12 levels.
        std::vector<Tree::ItemOnDisk> first(13 * entries), second(13 * entries);
        int blocks = 0, found = 0;
        const int where = tree->range_on_disk(key, largest, int(entries), &blocks, first.data(), second.data(), &found);
        std::vector<uint64_t> keys;
        for (int i = 0; i < found; i++) keys.push_back((where == 0 ? first : second)[i].key);
        return keys;
    }

    void insert(uint64_t key, uint64_t value) override {
        largest = std::max(largest, key);
        long long searching = 0, inserting = 0, restructuring = 0;
        int count = 0, updates = 0;
        tree->insert_on_disk(key, value, &searching, &inserting, &restructuring, &count, &updates);
    }

    bool is_inner(const std::string& file, uint64_t) const override { return file.find("_index") != std::string::npos; }

  private:
    Tree* tree = nullptr;
    uint64_t largest = 0;
};

int main() {
    Pgm index;
    return authors::serve("pgm", index);
}
