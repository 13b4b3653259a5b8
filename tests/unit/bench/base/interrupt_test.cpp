// SPDX-License-Identifier: Apache-2.0
// The first signal only sets a flag; the second one breaks a system call.
#include "base/interrupt.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace pagemix::bench {
namespace {

using namespace std::chrono_literals;

// Signals arrive in another thread; wait a while for what they shall cause.
template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 500 && !condition(); ++i) std::this_thread::sleep_for(10ms);
  return condition();
}

TEST(Interrupt, TheFirstSignalLetsASystemCallEnd) {
  const Interrupt interrupt;
  EXPECT_FALSE(Interrupt::requested());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread sender([&] {
    kill(getpid(), SIGINT);
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);  // not EINTR
  sender.join();
  EXPECT_TRUE(eventually([] { return Interrupt::requested(); }));
  EXPECT_FALSE(Interrupt::urgent());
  close(ends[0]);
  close(ends[1]);
}

TEST(Interrupt, TheSecondSignalBreaksIt) {
  const Interrupt interrupt;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread sender([] {
    kill(getpid(), SIGTERM);
    EXPECT_TRUE(eventually([] { return Interrupt::requested(); }));
    std::this_thread::sleep_for(50ms);  // the reader is in its call by then
    kill(getpid(), SIGTERM);
  });
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), -1);
  EXPECT_EQ(errno, EINTR);
  sender.join();
  EXPECT_TRUE(Interrupt::urgent());
  close(ends[0]);
  close(ends[1]);
}

TEST(Interrupt, AfterwardsSignalsAreAsBefore) {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  { const Interrupt interrupt; }
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    EXPECT_EQ(sigismember(&before, number), sigismember(&after, number));
  const Interrupt again;
  EXPECT_FALSE(Interrupt::requested());
}

}  // namespace
}  // namespace pagemix::bench
