#include "measure/network/thread_group.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "measure/network/sum.hpp"

namespace roofline::core {

namespace {

// State that the members of a group share: a barrier, and the exchange that each of them currently requests.
struct ThreadMembers {
    explicit ThreadMembers(int count, std::size_t most) : max_bytes(most), asked(static_cast<std::size_t>(count)) {}

    void meet() {
        std::unique_lock lock(mutex);
        const std::uint64_t mine = meeting;
        if (++arrived == asked.size()) {
            arrived = 0;
            ++meeting;
            all.notify_all();
            return;
        }
        all.wait(lock, [&] { return meeting != mine; });
    }

    std::size_t max_bytes;
    std::vector<const Exchange*> asked;
    std::vector<std::pair<int, int>> keys = std::vector<std::pair<int, int>>(asked.size());
    std::map<int, std::shared_ptr<ThreadMembers>> parts;  // groups made by a split, by colour
    std::mutex mutex;
    std::condition_variable all;
    std::size_t arrived = 0;
    std::uint64_t meeting = 0;
};

class DoneExchange : public PendingExchange {
public:
    Result<bool> done() override { return true; }
    Status wait() override { return {}; }
};

class ThreadCommunicator : public Communicator {
public:
    ThreadCommunicator(std::shared_ptr<ThreadMembers> members, int rank) : members_(std::move(members)), rank_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(members_->asked.size()); }
    std::size_t max_bytes() const override { return members_->max_bytes; }

    Status barrier() override {
        members_->meet();
        return {};
    }

    Status run(const Exchange& exchange) override {
        members_->asked[static_cast<std::size_t>(rank_)] = &exchange;
        members_->meet();
        take(exchange);
        members_->meet();
        return {};
    }

    Result<std::unique_ptr<PendingExchange>> start(const Exchange& exchange) override {
        ROOFLINE_CHECK(run(exchange));
        return std::make_unique<DoneExchange>();
    }

    Result<std::unique_ptr<Communicator>> split(int color, int key) override {
        members_->keys[static_cast<std::size_t>(rank_)] = {color, key};
        members_->meet();
        std::vector<std::pair<int, int>> mine;  // key and rank of the members with this member's colour
        for (std::size_t i = 0; i < members_->keys.size(); ++i) {
            if (members_->keys[i].first == color) mine.emplace_back(members_->keys[i].second, static_cast<int>(i));
        }
        std::sort(mine.begin(), mine.end());
        if (mine.front().second == rank_) {
            const std::lock_guard lock(members_->mutex);
            members_->parts[color] =
                std::make_shared<ThreadMembers>(static_cast<int>(mine.size()), members_->max_bytes);
        }
        members_->meet();
        auto part = members_->parts.at(color);
        const auto place = std::find(mine.begin(), mine.end(), std::pair(key, rank_)) - mine.begin();
        members_->meet();  // the next split makes other groups
        return std::make_unique<ThreadCommunicator>(std::move(part), static_cast<int>(place));
    }

private:
    [[nodiscard]] const Exchange& of(int member) const { return *members_->asked[static_cast<std::size_t>(member)]; }

    // Each member fills its own output from the inputs of the others.
    void take(const Exchange& mine) const {
        const std::size_t part = mine.part;
        const auto offset = [&](int member) { return static_cast<std::size_t>(member) * part; };
        switch (mine.kind) {
            case CollectiveKind::all_gather:
                for (int i = 0; i < size(); ++i) copy(mine.out + offset(i), of(i).in, part);
                break;
            case CollectiveKind::gather:
                for (int i = 0; rank_ == mine.root && i < size(); ++i) copy(mine.out + offset(i), of(i).in, part);
                break;
            case CollectiveKind::all_to_all:
                for (int i = 0; i < size(); ++i) copy(mine.out + offset(i), of(i).in + offset(rank_), part);
                break;
            case CollectiveKind::scatter:
                copy(mine.out, of(mine.root).in + offset(rank_), part);
                break;
            case CollectiveKind::broadcast:
                copy(mine.out, of(mine.root).in, part);
                break;
            case CollectiveKind::all_reduce:
                add_up(mine, 0);
                break;
            case CollectiveKind::reduce_scatter:
                add_up(mine, offset(rank_));
                break;
            case CollectiveKind::permute:
            case CollectiveKind::send:
                if (mine.from >= 0) copy(mine.out, of(mine.from).in, part);
                break;
        }
    }

    void add_up(const Exchange& mine, std::size_t at) const {
        copy(mine.out, of(0).in + at, mine.part);
        for (int i = 1; i < size(); ++i) {
            add_into(mine.out, of(i).in + at, mine.part, mine.dtype, mine.reduction);
        }
    }

    static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
        if (bytes > 0) std::memcpy(to, from, bytes);
    }

    std::shared_ptr<ThreadMembers> members_;
    int rank_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> thread_group(int members, std::size_t max_bytes) {
    auto shared = std::make_shared<ThreadMembers>(members, max_bytes);
    std::vector<std::unique_ptr<Communicator>> group;
    for (int rank = 0; rank < members; ++rank) group.push_back(std::make_unique<ThreadCommunicator>(shared, rank));
    return group;
}

void run_in_threads(int members, const std::function<void(Communicator&)>& work, std::size_t max_bytes) {
    const auto group = thread_group(members, max_bytes);
    std::vector<std::thread> threads;
    threads.reserve(group.size());
    for (const auto& member : group) threads.emplace_back([&work, &member] { work(*member); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace roofline::core
