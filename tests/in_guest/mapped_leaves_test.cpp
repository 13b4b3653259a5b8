// SPDX-License-Identifier: Apache-2.0
// A device uses what iommu_map and iommu_map_sg mapped: the first and the last
// eight bytes of each leaf that is predicted. Data must arrive; which leaves the
// IOMMU found is for the host to tell, from QEMU's trace between the markers.
// Prints, for each case, what is predicted: "@leaves <name> <bytes>:<count> ...".
// Needs QEMU's edu device.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "iommu/leaves.hpp"
#include "machine/heap_client.hpp"
#include "machine/marker.hpp"
#include "support/edu_bar.hpp"
#include "support/kernel.hpp"

namespace pagemix::test {
namespace {

pagemix_target_run hold_args(const char* op, int buffer) {
  pagemix_target_run args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.flags = PAGEMIX_RUN_HOLD;
  std::snprintf(args.op, sizeof(args.op), "%s", op);
  args.fd = buffer;
  args.repetitions = 1;
  return args;
}

/// A mapping that stays until end() or destruction.
class Held {
 public:
  Held(int node, const char* op, int buffer, const volatile pagemix_sample* sample)
      : args_(hold_args(op, buffer)) {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, nullptr);
    runner_ = std::thread([this, node] {
      error_ = call(node, PAGEMIX_IOC_TARGET_RUN, &args_);
      ended_ = true;
    });
    while (!ended_ && sample->end == 0) usleep(1000);
  }
  ~Held() { end(); }

  bool ended() const { return ended_; }
  /// The run's errno.
  int end() {
    // A signal just before the call is lost.
    while (runner_.joinable() && !ended_) {
      pthread_kill(runner_.native_handle(), SIGUSR1);
      usleep(1000);
    }
    if (runner_.joinable()) runner_.join();
    return error_;
  }
  std::uint64_t iova() const { return args_.iova; }

 private:
  pagemix_target_run args_;
  std::atomic<bool> ended_ = false;
  int error_ = 0;
  std::thread runner_;
};

struct Shape {
  std::string mix;
  std::vector<pagemix_step> steps;
  std::uint64_t pages;
  std::uint32_t layout = PAGEMIX_LAYOUT_SCATTERED;
};

/// Two chunks of each order, and a mix whose sizes of leaves differ: as allocated,
/// so that the largest comes first, where it is aligned.
std::vector<Shape> shapes(unsigned max_order) {
  std::vector<Shape> found;
  for (unsigned order = 0; order <= max_order; ++order)
    found.push_back({"order" + std::to_string(order), {{order, PAGEMIX_GFP_LOW}}, 2ULL << order});
  found.push_back({"9-4-0",
                   {{9, PAGEMIX_GFP_LOW}, {4, PAGEMIX_GFP_LOW}, {0, PAGEMIX_GFP_LOW}},
                   (1 << 9) + (1 << 4) + 3,
                   PAGEMIX_LAYOUT_BUDDY});
  return found;
}

class MappedLeaves : public testing::Test {
 protected:
  void SetUp() override {
    bdf_ = edu_device();
    ASSERT_FALSE(bdf_.empty()) << "no edu device (1234:11e8) in this machine";
    ASSERT_EQ(0, bind_driver(bdf_, "pagemix"));
  }
  void TearDown() override { EXPECT_EQ(0, bind_driver(bdf_, "")); }

  void use(const char* op, const Shape& shape);

  std::string bdf_;
  bench::HeapClient heap_;
  bench::Marker marker_{"/proc/self/fd/1"};
};

// What an IOMMU must find: leaf by leaf, as bench/iommu/leaves.hpp predicts them.
struct Leaf {
  std::uint64_t offset;
  std::uint64_t bytes;
};

std::vector<Leaf> leaves_of(const std::vector<bench::PageCall>& calls, std::uint64_t iova) {
  std::vector<Leaf> leaves;
  for (const bench::PageCall& call : calls)
    for (std::uint64_t i = 0; i < call.count; ++i)
      leaves.push_back({call.iova - iova + i * call.page_bytes, call.page_bytes});
  return leaves;
}

void MappedLeaves::use(const char* op, const Shape& shape) {
  const std::string name = std::string(op) + "/mix:" + shape.mix;
  SCOPED_TRACE(name);
  const bench::Buffer buffer = heap_.allocate({.bytes = shape.pages * heap_.info().page_size,
                                               .steps = shape.steps,
                                               .layout = shape.layout,
                                               .seed = 1},
                                              name);
  const std::vector<pagemix_run> runs = buffer.runs(heap_.fd());
  const std::uint64_t bytes = bench::total_bytes(runs);
  const vfio::MappedMemory memory = buffer.map_prefaulted(bytes);
  const auto words = reinterpret_cast<volatile std::uint64_t*>(memory.data());

  const Fd node(open(("/dev/pagemix/" + bdf_).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(node);
  pagemix_target_info info{};
  info.version = PAGEMIX_UAPI_VERSION;
  ASSERT_EQ(0, call(node.get(), PAGEMIX_IOC_TARGET_INFO, &info));
  pagemix_target_ring ring{};
  ring.version = PAGEMIX_UAPI_VERSION;
  ring.capacity = 1;
  ASSERT_EQ(0, call(node.get(), PAGEMIX_IOC_TARGET_RING, &ring));
  const Map samples(node.get(), ring.bytes, PROT_READ);
  const EduBar edu(bdf_);
  ASSERT_TRUE(edu);

  // The domain's first address is the same in each run.
  const std::uint64_t iova = std::uint64_t{4} << 30;
  const auto calls = bench::plan_map(runs, iova, info.pgsize_bitmap);
  std::string predicted;
  for (const auto& [size, count] : bench::count_leaves(calls))
    predicted += " " + std::to_string(size) + ":" + std::to_string(count);
  std::printf("@leaves %s%s\n", name.c_str(), predicted.c_str());
  std::fflush(stdout);

  marker_.begin(name, 0);
  Held held(node.get(), op, buffer.fd(), samples.as<const pagemix_sample>());
  std::uint64_t wrong = 0;
  const std::vector<Leaf> leaves = leaves_of(calls, iova);
  for (const Leaf& leaf : leaves) {
    const std::uint64_t first = leaf.offset, last = leaf.offset + leaf.bytes - sizeof(*words);
    words[first / sizeof(*words)] = ~first;
    words[last / sizeof(*words)] = 0;
    if (held.ended() || !edu.read(iova + first) || !edu.write(iova + last) ||
        words[last / sizeof(*words)] != ~first)
      ++wrong;
  }
  EXPECT_EQ(held.end(), EINTR);
  marker_.end(name, 0, leaves.size());
  EXPECT_EQ(wrong, 0U) << "of " << leaves.size() << " leaves";
  EXPECT_EQ(held.iova(), iova);
}

TEST_F(MappedLeaves, AreUsedByTheDevice) {
  for (const char* op : {"iommu_map", "iommu_map_sg"})
    for (const Shape& shape : shapes(heap_.info().max_order)) use(op, shape);
}

}  // namespace
}  // namespace pagemix::test
