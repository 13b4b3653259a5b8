// SPDX-License-Identifier: Apache-2.0
// Profiles: the shipped ones, defaults, overrides, and bad input with file,
// line and allowed values in every message.
#include "plan/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/family_table.hpp"
#include "plan/mixes.hpp"
#include "support.hpp"

namespace pagemix::bench {
namespace {

using test::message_of;

const std::vector<std::string> kMixes = {"order0", "order4", "8-4-0"};

Profile profile_of(const std::string& text, std::vector<Override> overrides = {}) {
  return make_profile(parse_ini(text, "p.ini"), "p.ini", overrides, kMixes);
}

TEST(Profile, DefaultsAreFilledInAndRecorded) {
  const Profile profile = profile_of("[run]\nmixes = order0\n");
  EXPECT_EQ(profile.layouts, (std::vector<std::string>{"scattered", "buddy"}));
  ASSERT_EQ(profile.bytes.size(), 1u);
  EXPECT_EQ(profile.bytes[0].bytes, 10485760u);
  EXPECT_EQ(profile.values.at("bytes").text, "10M");
  EXPECT_EQ(profile.values.at("mixes").text, "order0");
  EXPECT_EQ(profile.values.size(), profile_keys().size());
  EXPECT_EQ(profile.values.at("mixes").where, "p.ini:2");
  EXPECT_EQ(profile.values.at("bytes").where, "default");
}

TEST(Profile, TheCommandLineReplacesTheFile) {
  const Profile profile =
      profile_of("[run]\nmixes = order0\niterations = 7\n", {{"iterations", "3"}, {"bytes", "1M"}});
  EXPECT_EQ(profile.iterations, 3u);
  EXPECT_EQ(profile.bytes[0].bytes, 1048576u);
  EXPECT_EQ(profile.values.at("iterations").text, "3");
}

TEST(Profile, DomainModesAreTheMachinesUnlessNamed) {
  EXPECT_TRUE(profile_of("[run]\nmixes = order0\n").domains.empty());
  EXPECT_TRUE(profile_of("[run]\nmixes = order0\ndomain = found\n").domains.empty());
  EXPECT_EQ(profile_of("[run]\nmixes = order0\n", {{"domain", "lazy identity"}}).domains,
            (std::vector<std::string>{"lazy", "identity"}));
}

TEST(Profile, ABadValueOfTheCommandLineNamesTheOption) {
  EXPECT_EQ(message_of<UsageError>([] {
              profile_of("[run]\nmixes = order0\n", {{"blocks", "0"}});
            }),
            "--blocks: blocks: number 0 out of range; allowed: 1..1000");
}

TEST(Profile, TheShippedProfilesAreRead) {
  std::vector<std::string> names;
  for (const Mix& mix : load_mixes(CONFIGS_FOLDER "/mixes.ini", kDefaultMaxOrder))
    names.push_back(mix.name);
  for (const char* file : {"quick.ini", "full.ini"}) {
    const Profile profile =
        load_profile(std::string(CONFIGS_FOLDER "/profiles/") + file, {}, names);
    for (const char* mix : {"order0", "order4", "order8", "order9", "8-4-0", "9-4-0"})
      EXPECT_NE(std::ranges::find(profile.mixes, mix), profile.mixes.end()) << file << mix;
    EXPECT_EQ(profile.families,
              (std::vector<std::string>{"alloc", "free", "map_sgtable", "unmap_sgtable", "vfio_map",
                                        "vfio_unmap", "sample_cost"}))
        << file;
    EXPECT_EQ(profile.states, (std::vector<std::string>{"warm", "cold"})) << file;
  }
}

TEST(Profile, AMissingKeyNamesTheFile) {
  EXPECT_EQ(
      message_of<UsageError>([] { profile_of("[run]\nseed = 1\n"); }),
      "p.ini: key \"mixes\" of [run] is missing: mixes to measure, by name in the mixes file");
}

struct BadInput {
  const char* name;
  const char* text;
  std::string message;
};

void PrintTo(const BadInput& bad, std::ostream* out) { *out << bad.name; }

class BadProfile : public testing::TestWithParam<BadInput> {};

TEST_P(BadProfile, NamesLineValueAndAllowedValues) {
  EXPECT_EQ(message_of<UsageError>([&] { profile_of(GetParam().text); }), GetParam().message);
}

// Keys and families grow; the lists in messages are those of the program.
std::string key_list() {
  std::vector<std::string> names;
  for (const ProfileKey* key : profile_keys()) names.emplace_back(key->name);
  return join(names);
}

constexpr const char* kSizesAllowed =
    "; allowed: multiples of 4K from 4K to 64G, as in 64K, 10M or 10485760";

std::vector<BadInput> bad_inputs() {
  const auto sizes = [](const std::string& start) { return start + kSizesAllowed; };
  return {
      {"unknown_key", "[run]\nmixes = order0\n\nmixs = order4\n",
       "p.ini:4: unknown key \"mixs\" of [run]; allowed: " + key_list()},
      {"unknown_section", "[run]\nmixes = order0\n[rum]\n",
       "p.ini:3: unknown section [rum]; allowed: [run]"},
      {"key_without_section", "mixes = order0\n",
       "p.ini:1: key \"mixes\" outside of a section; allowed: keys of [run]"},
      {"unknown_mix", "[run]\nmixes = order0 order5\n",
       "p.ini:2: mixes: unknown value \"order5\"; allowed: order0, order4, 8-4-0"},
      {"no_mix", "[run]\nmixes =\n", "p.ini:2: mixes: no value; allowed: order0, order4, 8-4-0"},
      {"mix_twice", "[run]\nmixes = order0 order0\n",
       "p.ini:2: mixes: \"order0\" given twice; allowed: each value once"},
      {"unknown_layout", "[run]\nmixes = order0\nlayouts = shuffled\n",
       "p.ini:3: layouts: unknown value \"shuffled\"; allowed: scattered, buddy"},
      {"unknown_family", "[run]\nmixes = order0\nfamilies = map\n",
       "p.ini:3: families: unknown value \"map\"; allowed: " + join(family_names())},
      {"unknown_state", "[run]\nmixes = order0\nstates = hot\n",
       "p.ini:3: states: unknown value \"hot\"; allowed: warm, cold"},
      {"unknown_direction", "[run]\nmixes = order0\ndirection = both\n",
       "p.ini:3: direction: unknown value \"both\"; allowed: bidirectional, to_device, "
       "from_device"},
      {"two_directions", "[run]\nmixes = order0\ndirection = to_device from_device\n",
       "p.ini:3: direction: more than one value; allowed: one of bidirectional, to_device, "
       "from_device"},
      {"unknown_domain", "[run]\nmixes = order0\ndomain = DMA\n",
       "p.ini:3: domain: unknown value \"DMA\"; allowed: found, strict, lazy, identity"},
      {"found_and_more", "[run]\nmixes = order0\ndomain = found lazy\n",
       "p.ini:3: domain: found beside another value; allowed: found; or of strict, lazy, "
       "identity"},
      {"unknown_backend", "[run]\nmixes = order0\nbackend = vfio\n",
       "p.ini:3: backend: unknown value \"vfio\"; allowed: type1, iommufd, iommufd-4k, auto"},
      {"auto_and_more", "[run]\nmixes = order0\nbackend = auto type1\n",
       "p.ini:3: backend: auto beside another value; allowed: auto; or of the others"},
      {"unreadable_size", "[run]\nmixes = order0\nbytes = 10M 10Q\n",
       sizes("p.ini:3: bytes: unreadable size \"10Q\"")},
      {"negative_size", "[run]\nmixes = order0\nbytes = -4096\n",
       sizes("p.ini:3: bytes: unreadable size \"-4096\"")},
      {"overflowing_size", "[run]\nmixes = order0\nbytes = 99999999999G\n",
       sizes("p.ini:3: bytes: unreadable size \"99999999999G\"")},
      {"size_zero", "[run]\nmixes = order0\nbytes = 0\n",
       sizes("p.ini:3: bytes: size \"0\" out of range")},
      {"size_too_large", "[run]\nmixes = order0\nbytes = 65G\n",
       sizes("p.ini:3: bytes: size \"65G\" out of range")},
      {"size_no_pages", "[run]\nmixes = order0\nbytes = 5000\n",
       sizes("p.ini:3: bytes: size \"5000\" is no whole pages")},
      {"no_size", "[run]\nmixes = order0\nbytes =\n", sizes("p.ini:3: bytes: no value")},
      {"size_twice", "[run]\nmixes = order0\nbytes = 1M 1048576\n",
       "p.ini:3: bytes: size \"1048576\" given twice; allowed: each value once"},
      {"iterations_zero", "[run]\nmixes = order0\niterations = 0\n",
       "p.ini:3: iterations: number 0 out of range; allowed: 1..1048576"},
      {"iterations_too_many", "[run]\nmixes = order0\niterations = 1048577\n",
       "p.ini:3: iterations: number 1048577 out of range; allowed: 1..1048576"},
      {"iterations_text", "[run]\nmixes = order0\niterations = many\n",
       "p.ini:3: iterations: unreadable number \"many\"; allowed: 1..1048576"},
      {"blocks_too_many", "[run]\nmixes = order0\nblocks = 1001\n",
       "p.ini:3: blocks: number 1001 out of range; allowed: 1..1000"},
      {"warmup_negative", "[run]\nmixes = order0\nwarmup = -1\n",
       "p.ini:3: warmup: unreadable number \"-1\"; allowed: 0..1048576"},
      {"seed_overflow", "[run]\nmixes = order0\nseed = 18446744073709551616\n",
       "p.ini:3: seed: unreadable number \"18446744073709551616\"; allowed: "
       "0..18446744073709551615"},
      {"key_twice", "[run]\nmixes = order0\nmixes = order4\n",
       "p.ini:3: key \"mixes\" of [run] is already at p.ini:2"},
      {"no_equals", "[run]\nmixes order0\n",
       "p.ini:2: unreadable line \"mixes order0\"; allowed: [section], key = value, # comment"},
  };
}

INSTANTIATE_TEST_SUITE_P(Profile, BadProfile, testing::ValuesIn(bad_inputs()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pagemix::bench
