// The FITing-tree of the evaluation on disk, with the segments of PGM as in its measurements.

#include "protocol.h"

#include "fiting_tree_memory.h"

class Fiting : public authors::Index {
  public:
    explicit Fiting(int error) : error(error) {}

    bool scans_from_absent() const override { return false; }
    bool scans_after_inserts() const override { return false; }
    bool inserts_below() const override { return false; }

    void build(const std::vector<authors::Pair>& pairs) override {
        std::vector<Iterm> items;
        std::vector<KeyType> keys;
        for (const auto& [key, value] : pairs) {
            items.push_back({key, value});
            keys.push_back(key);
        }
        // The steps of their bulk load one by one, to see where the directory begins.
        tree = new FITingTree(error, name, true, ALL_DISK);
        std::vector<FITingTree::Seg> segments;
        tree->_ts(keys.begin(), keys.end(), error, segments);
        const auto entries = tree->write_segment_pgm(items.data(), long(items.size()), segments, true, 0, 0);
        first_directory_block = tree->get_file_size() / authors::BLOCK_BYTES;
        tree->_build_tree(items.data(), long(items.size()), entries);
        const uint64_t directory = tree->get_file_size() / authors::BLOCK_BYTES - first_directory_block;
        std::fprintf(stderr, "fiting: %zu segments, %zu directory blocks\n", entries.size(), std::size_t(directory));
    }

    std::optional<uint64_t> get(uint64_t key) override {
        uint64_t value = 0;
        int blocks = 0;
        return tree->lookup_disk(key, &blocks, &value) ? std::optional(value) : std::nullopt;
    }

    std::vector<uint64_t> scan(uint64_t key, std::size_t entries) override {
        std::vector<uint64_t> keys(entries);
        int blocks = 0;
        tree->scan(key, keys.data(), &blocks, int(entries));
        return keys;
    }

    void insert(uint64_t key, uint64_t value) override { tree->insert_key_entry_f(key, value); }

    // A bulk load writes the segments first, and the directory behind them.
    bool is_inner(const std::string&, uint64_t block) const override { return block >= first_directory_block; }

  private:
    FITingTree* tree = nullptr;
    int error;
    char name[6] = "index";
    uint64_t first_directory_block = 0;
};

int main(int count, char** arguments) {
    // The error of the segments, in entries.
    Fiting index(count > 1 ? std::atoi(arguments[1]) : 64);
    return authors::serve("fiting", index);
}
