// A program as a subject of the bench, in C++17 and without a JSON library: a sorted array of pairs.
// Build: c++ -O2 -std=c++17 -o sorted_array sorted_array.cpp

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using Pair = std::pair<uint64_t, uint64_t>;

static std::vector<Pair> pairs;

static bool key_below(const Pair& pair, uint64_t key) { return pair.first < key; }

static std::size_t place_of(uint64_t key) {
    return std::lower_bound(pairs.begin(), pairs.end(), key, key_below) - pairs.begin();
}

// All numbers of a line, in order: requests have no other digits.
static std::vector<uint64_t> numbers_of(const std::string& line) {
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

static void append(std::string& list, const std::string& item) {
    if (list.back() != '[') list += ',';
    list += item;
}

int main() {
    std::ios::sync_with_stdio(false);
    std::string line;
    while (std::getline(std::cin, line)) {
        const std::string name = line.substr(2, line.find('"', 2) - 2);
        const std::vector<uint64_t> numbers = numbers_of(line);
        const auto start = std::chrono::steady_clock::now();
        std::vector<std::optional<uint64_t>> values;
        std::vector<std::vector<Pair>> scans;
        std::string reply;
        // The work first, so that its time has no text in it.
        if (name == "load" || name == "insert") {
            const std::size_t former = pairs.size();
            for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) pairs.emplace_back(numbers[i], numbers[i + 1]);
            std::sort(pairs.begin() + former, pairs.end());
            std::inplace_merge(pairs.begin(), pairs.begin() + former, pairs.end());
            reply = "\"added\":" + std::to_string(pairs.size() - former);
        } else if (name == "get") {
            for (uint64_t key : numbers) {
                const std::size_t place = place_of(key);
                const bool is_there = place < pairs.size() && pairs[place].first == key;
                values.push_back(is_there ? std::optional(pairs[place].second) : std::nullopt);
            }
        } else if (name == "scan") {
            for (std::size_t i = 1; i < numbers.size(); i++) {
                const auto first = pairs.begin() + place_of(numbers[i]);
                scans.emplace_back(first, first + std::min<uint64_t>(pairs.end() - first, numbers[0]));
            }
        }
        const auto elapsed = std::chrono::steady_clock::now() - start;
        if (name == "hello") {
            pairs.clear();
            reply = R"("protocol":1,"name":"sorted-array-cpp","version":"1.0","operations":["scan","insert"])";
        } else if (name == "echo") {
            // The last number says how often the others come back.
            reply = "\"values\":[";
            for (std::size_t i = 0; i + 1 < numbers.size(); i++)
                for (uint64_t time = 0; time < numbers.back(); time++) append(reply, std::to_string(numbers[i]));
            reply += ']';
        } else if (name == "get") {
            reply = "\"values\":[";
            for (const auto& value : values) append(reply, value ? std::to_string(*value) : "null");
            reply += ']';
        } else if (name == "scan") {
            reply = "\"scans\":[";
            for (const auto& scan : scans) {
                std::string list = "[";
                for (const Pair& pair : scan) {
                    append(list, std::to_string(pair.first));
                    append(list, std::to_string(pair.second));
                }
                append(reply, list + ']');
            }
            reply += ']';
        } else if (name == "size") {
            reply = "\"entries\":" + std::to_string(pairs.size()) +
                    ",\"memory_bytes\":" + std::to_string(pairs.capacity() * sizeof(Pair));
        } else if (name != "load" && name != "build" && name != "insert") {
            reply = "\"error\":\"no request " + name + "\"";
        }
        const auto elapsed_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count();
        if (!reply.empty()) reply += ',';
        std::cout << '{' << reply << "\"elapsed_ns\":" << elapsed_ns << "}\n" << std::flush;
    }
    return 0;
}
