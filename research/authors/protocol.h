// The protocol of docs/programs.md around an index in the authors' code, and the count of the blocks that it reads.
//
// An adapter includes this header before the authors' headers: at its end, the file functions of C that they call are
// replaced by counting ones. A block is 4 KiB of a file. An operation counts each block once, however often the code
// reads it, and starts with nothing in memory but what the code keeps in its object: the metanode. So the counts are
// those of the code where its own counter is right, and less where that counts a block twice.

#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#ifndef AUTHORS_COMMIT
#define AUTHORS_COMMIT "unknown"
#endif

namespace authors {

constexpr uint64_t BLOCK_BYTES = 4096;

using Pair = std::pair<uint64_t, uint64_t>;

// The open files of the code, and the blocks that an operation reads and writes.
class Files {
  public:
    struct Block {
        std::size_t file;
        uint64_t number;
        bool operator<(const Block& other) const { return std::tie(file, number) < std::tie(other.file, other.number); }
        bool operator==(const Block& other) const { return file == other.file && number == other.number; }
    };

    std::FILE* open(const char* name, const char* mode) {
        std::FILE* file = std::fopen(name, mode);
        if (file == nullptr) throw std::runtime_error("cannot open " + std::string(name));
        opened.push_back({file, name});
        return file;
    }

    int close(std::FILE* file) {
        for (Opened& one : opened)
            if (one.file == file) one.file = nullptr;
        return std::fclose(file);
    }

    std::size_t read(void* to, std::size_t bytes, std::size_t count, std::FILE* file) {
        note(reads, file, bytes * count);
        return std::fread(to, bytes, count, file);
    }

    std::size_t write(const void* from, std::size_t bytes, std::size_t count, std::FILE* file) {
        note(writes, file, bytes * count);
        return std::fwrite(from, bytes, count, file);
    }

    void start_operation() {
        reads.clear();
        writes.clear();
    }

    const std::vector<Block>& distinct_reads() { return distinct(reads); }
    const std::vector<Block>& distinct_writes() { return distinct(writes); }
    const std::string& name_of(const Block& block) const { return opened[block.file].name; }

    uint64_t bytes() const {
        uint64_t sum = 0;
        for (const Opened& one : opened) {
            struct stat status {};
            if (one.file == nullptr) continue;
            std::fflush(one.file);
            if (fstat(fileno(one.file), &status) == 0) sum += status.st_size;
        }
        return sum;
    }

  private:
    struct Opened {
        std::FILE* file;
        std::string name;
    };

    void note(std::vector<Block>& blocks, std::FILE* file, std::size_t bytes) {
        std::size_t index = opened.size();
        while (index > 0 && opened[index - 1].file != file) index--;
        if (index == 0 || bytes == 0) return;
        const uint64_t start = std::ftell(file);
        for (uint64_t block = start / BLOCK_BYTES; block <= (start + bytes - 1) / BLOCK_BYTES; block++)
            blocks.push_back({index - 1, block});
    }

    static const std::vector<Block>& distinct(std::vector<Block>& blocks) {
        std::sort(blocks.begin(), blocks.end());
        blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
        return blocks;
    }

    std::vector<Opened> opened;
    std::vector<Block> reads;
    std::vector<Block> writes;
};

inline Files files;

// An index of the authors. What their code answers wrongly or crashes on is refused here, with the reason as the error
// of the session. Errors are exceptions.
class Index {
  public:
    virtual ~Index() = default;
    // Fewest pairs of a bulk load that works.
    virtual std::size_t fewest_pairs() const { return 1; }
    // Whether a scan may start from a key that is not there, and after inserts.
    virtual bool scans_from_absent() const { return true; }
    virtual bool scans_after_inserts() const { return true; }
    // Whether keys may be inserted below and above those of the bulk load.
    virtual bool inserts_below() const { return true; }
    virtual bool inserts_above() const { return true; }
    // Builds the index in the current folder.
    virtual void build(const std::vector<Pair>& pairs) = 0;
    virtual std::optional<uint64_t> get(uint64_t key) = 0;
    // The first keys from `key` on; there are at least `entries`.
    virtual std::vector<uint64_t> scan(uint64_t key, std::size_t entries) = 0;
    virtual void insert(uint64_t key, uint64_t value) = 0;
    // Whether a block of a file, by its name when it was opened, has inner nodes. Known after a bulk load.
    virtual bool is_inner(const std::string& file, uint64_t block) const = 0;
};

// The pairs that are in the index. The codes' scans return keys alone, or do not stop at the last: this adds the
// values, and says how many entries there are. Which keys come, and in what order, is the code's answer.
class Contents {
  public:
    void load(const std::vector<uint64_t>& numbers) {
        for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) loaded.emplace_back(numbers[i], numbers[i + 1]);
    }

    const std::vector<Pair>& pairs() const { return loaded; }

    bool insert(uint64_t key, uint64_t value) {
        const auto place = place_of(key);
        const bool is_there = place != loaded.end() && place->first == key;
        return !is_there && inserted.emplace(key, value).second;
    }

    std::size_t size() const { return loaded.size() + inserted.size(); }

    // How many entries there are from a key on, at most `most`.
    std::size_t from(uint64_t key, std::size_t most) const {
        std::size_t count = std::min<std::size_t>(loaded.end() - place_of(key), most);
        for (auto at = inserted.lower_bound(key); at != inserted.end() && count < most; ++at) count++;
        return count;
    }

    std::optional<uint64_t> value_of(uint64_t key) const {
        const auto place = place_of(key);
        if (place != loaded.end() && place->first == key) return place->second;
        const auto late = inserted.find(key);
        return late == inserted.end() ? std::nullopt : std::optional(late->second);
    }

  private:
    std::vector<Pair>::const_iterator place_of(uint64_t key) const {
        const auto below = [](const Pair& pair, uint64_t other) { return pair.first < other; };
        return std::lower_bound(loaded.begin(), loaded.end(), key, below);
    }

    std::vector<Pair> loaded;
    std::map<uint64_t, uint64_t> inserted;
};

// All numbers of a line, in order: requests have no other digits.
inline std::vector<uint64_t> numbers_of(const std::string& line) {
    std::vector<uint64_t> numbers;
    const char* at = line.c_str();
    while (*at != '\0') {
        char* end = nullptr;
        if (*at >= '0' && *at <= '9') {
            numbers.push_back(std::strtoull(at, &end, 10));
            at = end;
        } else {
            at++;
        }
    }
    return numbers;
}

inline void append(std::string& list, const std::string& item) {
    if (list.back() != '[') list += ',';
    list += item;
}

// A session of one index.
class Session {
  public:
    Session(std::string name, Index& index) : name(std::move(name)), index(index) {}

    // The reply to a request, without its braces.
    std::string answer(const std::string& line) {
        const std::string request = line.substr(2, line.find('"', 2) - 2);
        const std::vector<uint64_t> numbers = numbers_of(line);
        elapsed_ns = blocks_read = blocks_written = 0;
        if (request == "hello") return hello(numbers);
        if (request == "echo") return echo(numbers);
        if (request == "size") return size();
        std::string reply = work(request, numbers);
        if (request != "load") {
            if (!reply.empty()) reply += ',';
            reply += "\"elapsed_ns\":" + std::to_string(elapsed_ns);
            reply += ",\"blocks_read\":" + std::to_string(blocks_read);
            reply += ",\"blocks_written\":" + std::to_string(blocks_written);
        }
        return reply;
    }

    // Blocks of the lookups that found their key, for people.
    void report() const {
        if (found == 0 || contents.size() > contents.pairs().size()) return;
        std::fprintf(stderr, "%s: %zu lookups, %.3f inner and %.3f leaf blocks each\n", name.c_str(), found,
                     double(inner_blocks) / found, double(leaf_blocks) / found);
    }

  private:
    std::string hello(const std::vector<uint64_t>& numbers) {
        if (numbers.size() != 2 || numbers[0] != 1) throw std::runtime_error("only version 1 of the protocol");
        if (numbers[1] != BLOCK_BYTES) throw std::runtime_error("only blocks of 4096 bytes");
        return R"("protocol":1,"name":"authors' )" + name + R"(","version":")" AUTHORS_COMMIT
               R"(","operations":["scan","insert"])";
    }

    // The last number says how often the others come back.
    static std::string echo(const std::vector<uint64_t>& numbers) {
        std::string list = "[";
        for (std::size_t i = 0; i + 1 < numbers.size(); i++)
            for (uint64_t time = 0; time < numbers.back(); time++) append(list, std::to_string(numbers[i]));
        return "\"values\":" + list + ']';
    }

    std::string size() const {
        return "\"entries\":" + std::to_string(contents.size()) + ",\"file_bytes\":" + std::to_string(files.bytes());
    }

    std::string work(const std::string& request, const std::vector<uint64_t>& numbers) {
        if (request == "load") {
            contents.load(numbers);
            return "";
        }
        if (request == "build") {
            build();
            return "";
        }
        if (request == "get") return get(numbers);
        if (request == "scan") return scan(numbers);
        if (request == "insert") return insert(numbers);
        throw std::runtime_error("no request " + request);
    }

    // The files are in a folder of their own, which is removed at once: the code holds them open.
    void build() {
        const std::size_t fewest = index.fewest_pairs();
        refuse(contents.size() < fewest, "loads no fewer than " + std::to_string(fewest) + " pairs");
        std::string folder = (std::filesystem::temp_directory_path() / "authors-XXXXXX").string();
        if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot create " + folder);
        std::filesystem::current_path(folder);
        try {
            timed([&] { index.build(contents.pairs()); });
        } catch (...) {
            std::filesystem::remove_all(folder);
            throw;
        }
        std::filesystem::remove_all(folder);
    }

    std::string get(const std::vector<uint64_t>& keys) {
        std::vector<std::optional<uint64_t>> values;
        for (uint64_t key : keys) {
            timed([&] { values.push_back(index.get(key)); });
            if (values.back()) split_blocks();
        }
        std::string list = "[";
        for (const auto& value : values) append(list, value ? std::to_string(*value) : "null");
        return "\"values\":" + list + ']';
    }

    std::string scan(const std::vector<uint64_t>& numbers) {
        const bool is_grown = contents.size() > contents.pairs().size();
        refuse(is_grown && !index.scans_after_inserts(), "scans wrongly after inserts");
        std::string lists = "[";
        for (std::size_t i = 1; i < numbers.size(); i++) {
            const bool is_absent = !contents.value_of(numbers[i]);
            refuse(is_absent && !index.scans_from_absent(), "scans wrongly from a key that is not there");
            const std::size_t entries = contents.from(numbers[i], numbers[0]);
            std::vector<uint64_t> keys;
            if (entries > 0) timed([&] { keys = index.scan(numbers[i], entries); });
            std::string list = "[";
            for (uint64_t key : keys) {
                const auto value = contents.value_of(key);
                append(list, std::to_string(key));
                // A key that is not there has no value: this one is wrong.
                append(list, std::to_string(value.value_or(0)));
            }
            append(lists, list + ']');
        }
        return "\"scans\":" + lists + ']';
    }

    std::string insert(const std::vector<uint64_t>& numbers) {
        uint64_t added = 0;
        for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
            const uint64_t key = numbers[i], value = numbers[i + 1];
            const auto& loaded = contents.pairs();
            refuse(key < loaded.front().first && !index.inserts_below(), "fails on inserts below the loaded keys");
            refuse(key > loaded.back().first && !index.inserts_above(), "fails on inserts above the loaded keys");
            refuse(!contents.insert(key, value), "does not replace values");
            timed([&] { index.insert(key, value); });
            added++;
        }
        return "\"added\":" + std::to_string(added);
    }

    static void refuse(bool condition, const std::string& reason) {
        if (condition) throw std::runtime_error("the authors' code " + reason);
    }

    // One operation: its time, and its blocks after it.
    template <typename Operation>
    void timed(Operation operation) {
        files.start_operation();
        const auto start = std::chrono::steady_clock::now();
        operation();
        const auto elapsed = std::chrono::steady_clock::now() - start;
        elapsed_ns += std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count();
        blocks_read += files.distinct_reads().size();
        blocks_written += files.distinct_writes().size();
    }

    void split_blocks() {
        found++;
        for (const Files::Block& block : files.distinct_reads())
            (index.is_inner(files.name_of(block), block.number) ? inner_blocks : leaf_blocks)++;
    }

    std::string name;
    Index& index;
    Contents contents;
    uint64_t elapsed_ns = 0, blocks_read = 0, blocks_written = 0;
    std::size_t found = 0, inner_blocks = 0, leaf_blocks = 0;
};

// Answers requests until the input ends.
inline int serve(const std::string& name, Index& index) {
    // The codes print to standard output, which is for replies alone: their messages are dropped.
    std::FILE* replies = fdopen(dup(STDOUT_FILENO), "w");
    if (replies == nullptr || std::freopen("/dev/null", "w", stdout) == nullptr) return 1;
    std::ios::sync_with_stdio(false);
    Session session(name, index);
    std::string line;
    while (std::getline(std::cin, line)) {
        std::string reply;
        try {
            reply = session.answer(line);
        } catch (const std::exception& error) {
            std::string reason = error.what();
            for (char& letter : reason)
                if (letter == '"' || letter == '\\' || letter == '\n') letter = ' ';
            reply = "\"error\":\"" + reason + '"';
        }
        std::fprintf(replies, "{%s}\n", reply.c_str());
        std::fflush(replies);
    }
    session.report();
    // The destructors of some codes free what they do not own.
    std::fflush(nullptr);
    _exit(0);
}

}  // namespace authors

// From here on, the authors' code reads and writes by these.
#define fopen(name, mode) authors::files.open(name, mode)
#define fclose(file) authors::files.close(file)
#define fread(to, bytes, count, file) authors::files.read(to, bytes, count, file)
#define fwrite(from, bytes, count, file) authors::files.write(from, bytes, count, file)
