// SPDX-License-Identifier: Apache-2.0
// The edu device bound to the module, and runs on its node.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "support/kernel.hpp"

namespace pagemix::test {

inline const pagemix_step kOrder0 = {0, PAGEMIX_GFP_LOW};
constexpr std::uint64_t kCapacity = 64;

inline void set_op(pagemix_target_run& args, const char* op) {
  std::memset(args.op, 0, sizeof(args.op));
  std::strncpy(args.op, op, sizeof(args.op) - 1);
}

inline pagemix_target_run run_args(const char* op, int fd, std::uint32_t repetitions = 8) {
  pagemix_target_run args{};
  args.version = PAGEMIX_UAPI_VERSION;
  set_op(args, op);
  args.fd = fd;
  args.repetitions = repetitions;
  return args;
}

inline int make_ring(int node, std::uint64_t capacity, std::uint64_t* bytes = nullptr) {
  pagemix_target_ring args{};
  args.version = PAGEMIX_UAPI_VERSION;
  args.capacity = capacity;
  const int err = call(node, PAGEMIX_IOC_TARGET_RING, &args);
  if (bytes) *bytes = args.bytes;
  return err;
}

class Target : public testing::Test {
 protected:
  void SetUp() override {
    bdf_ = edu_device();
    if (bdf_.empty()) GTEST_SKIP() << "no edu device (1234:11e8) in this machine";
    ASSERT_EQ(0, bind_driver(bdf_, "pagemix"));
    node_ = open_node();
    ASSERT_TRUE(node_) << std::strerror(errno);
    buffer_ = allocate(10 * kMiB, {kOrder0}, PAGEMIX_LAYOUT_SCATTERED);
    ASSERT_TRUE(buffer_) << std::strerror(errno);
  }
  void TearDown() override {
    node_.reset();
    buffer_.reset();
    if (!bdf_.empty()) {
      EXPECT_EQ(0, bind_driver(bdf_, ""));
    }
    EXPECT_EQ(0, module_refcount("pagemix"));
  }

  Fd open_node() const { return Fd(open(("/dev/pagemix/" + bdf_).c_str(), O_RDWR | O_CLOEXEC)); }

  std::string bdf_;
  Fd node_;
  Fd buffer_;
};

}  // namespace pagemix::test
