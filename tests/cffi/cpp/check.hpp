/* What the tests of the wrapper share. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <mcplink.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
            std::exit(1);                                                                      \
        }                                                                                      \
    } while (0)

using namespace std::chrono_literals;

/* Counts how many callables live. */
struct alive {
    static inline std::atomic<int> count{0};
    alive() { count++; }
    alive(const alive &) { count++; }
    alive(alive &&) noexcept { count++; }
    alive &operator=(const alive &) = default;
    alive &operator=(alive &&) = default;
    ~alive() { count--; }
};

/* What other threads bring, in order. */
template <class T> class box {
public:
    void put(T item)
    {
        std::lock_guard<std::mutex> locked(lock_);
        items_.push_back(std::move(item));
        changed_.notify_all();
    }
    /* The next one. Who waits too long has failed. */
    T take()
    {
        std::unique_lock<std::mutex> locked(lock_);
        CHECK(changed_.wait_for(locked, 60s, [this] { return !items_.empty(); }));
        T first = std::move(items_.front());
        items_.pop_front();
        return first;
    }
    /* The next one that is so; those before it are dropped. */
    T take_until(const T &wanted)
    {
        for (;;)
            if (T next = take(); next == wanted) return next;
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<T> items_;
};

/* Whether something failed like this. */
template <class Result> bool failed_with(const Result &result, mcplink_status_t status)
{
    if (!result && result.error().status() == status) return true;
    std::fprintf(stderr, "%s instead of %s\n", result ? "success" : std::string(result.error().message()).c_str(), mcplink_status_name(status));
    return false;
}

/* Whether it worked; says why not. */
template <class Result> bool worked(const Result &result)
{
    if (!result) std::fprintf(stderr, "failed: %s\n", std::string(result.error().message()).c_str());
    return result.has_value();
}

#endif
