#include "store/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/files.h"
#include "base/scratch.h"
#include "store/by_hand.h"
#include "store/lessons.h"
#include "store/packed.h"
#include "store/rescue.h"
#include "store/run_lock.h"
#include "store/schema.h"
#include "store/seal.h"
#include "store/sha256.h"

namespace kw::store {
namespace {

class StoreTest : public testing::Test {
 protected:
  Store open() {
    auto store = Store::open(folder_.path());
    EXPECT_TRUE(store.ok()) << store.error().message;
    return *std::move(store);
  }
  // A run of two candidates on Relu, not yet judged.
  static std::int64_t run_of_two(Store& store, const std::string& first = "one", const std::string& second = "two") {
    const std::vector<NewItem> items = {item_by_hand(1, first), item_by_hand(2, second)};
    const auto run = store.begin_run({.command = "kw eval --batch x"}, items);
    EXPECT_TRUE(run.ok()) << run.error().message;
    return *run;
  }
  static void judge_all(Store& store, std::int64_t run, double speedup = 2) {
    const std::int64_t machine = *store.add_machine(machine_by_hand());
    const auto open = store.open_items(run);
    for (const Item& item : *open) {
      const Verdict verdict = verdict_by_hand(100, speedup);
      const Status status = store.record(item.id, verdict, json_by_hand(verdict), around_by_hand(machine));
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
  }
  static std::int64_t rows(const Store& store, const std::string& table) {
    return *store.database().number("SELECT count(*) FROM " + table);
  }

  const ScratchFolder folder_;
};

TEST(VersionOfARival, IsTheSameForAllTasksWithoutItsSource) {
  EXPECT_EQ(version_with_source("g++ 12.2.0 -O3", "0123456789ab"), "g++ 12.2.0 -O3, source 0123456789ab");
  EXPECT_EQ(version_without_source("g++ 12.2.0 -O3, source 0123456789ab"), "g++ 12.2.0 -O3");
  EXPECT_EQ(version_without_source("3.6.1"), "3.6.1");
}

TEST(Sha256, GivesWhatTheStandardSays) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Packed, GivesBackWhatWasPacked) {
  for (const std::string& text : {std::string(), std::string("x"), std::string(100'000, 'y')}) {
    EXPECT_EQ(*unpack(pack(text)), text);
  }
  const std::vector<Pair> pairs = {{1, 2}, {0.1, 1e300}, {-0.0, 5e-324}};
  const auto back = unpack_pairs(pack_pairs(pairs));
  ASSERT_EQ(back->size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*back)[i].a_ns, pairs[i].a_ns);
    EXPECT_EQ((*back)[i].b_ns, pairs[i].b_ns);
  }
}

TEST(Packed, RefusesWhatIsDamaged) {
  std::string packed = pack(std::string(1000, 'y'));
  packed[packed.size() / 2] ^= 1;
  EXPECT_FALSE(unpack(packed).ok());
  EXPECT_FALSE(unpack("").ok());
  EXPECT_FALSE(unpack(std::string(8, '\xff') + packed).ok());
}

TEST(Packed, UnpacksNoMoreThanItsLimitWhateverTheDataSays) {
  const auto with_size = [](std::string packed, std::uint64_t size) {
    for (std::size_t i = 0; i < 8; ++i) packed[i] = static_cast<char>(size >> (8 * i));
    return packed;
  };
  const std::string zeros = pack(std::string(std::size_t{64} << 20, '\0'));
  EXPECT_TRUE(unpack(zeros).ok());
  EXPECT_FALSE(unpack(with_size(zeros, 1000)).ok()) << "more than it says";
  EXPECT_FALSE(unpack(with_size(zeros, kMostPackedBytes)).ok()) << "less than it says";
  EXPECT_FALSE(unpack(with_size(zeros, kMostPackedBytes + 1)).ok());
  EXPECT_FALSE(unpack(with_size(zeros, (std::uint64_t{1} << 31) - 1)).ok());
  EXPECT_FALSE(unpack(with_size(zeros, ~std::uint64_t{0})).ok());
}

// What unpacks to more than it says is refused as soon as it does, and not when all of it lies in memory.
TEST(Packed, TakesNoMemoryForWhatItRefuses) {
  std::string lying = pack(std::string(std::size_t{128} << 20, '\0'));
  for (std::size_t i = 0; i < 8; ++i) lying[i] = static_cast<char>(std::uint64_t{1000} >> (8 * i));
  const pid_t child = ::fork();
  if (child == 0) {
    std::ifstream pages("/proc/self/statm");
    rlim_t now = 0;
    pages >> now;
    const rlimit little{now * 4096 + (32 << 20), now * 4096 + (32 << 20)};
    ::setrlimit(RLIMIT_AS, &little);
    try {
      ::_exit(unpack(lying).ok() ? 1 : 0);
    } catch (const std::bad_alloc&) {
      ::_exit(99);
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Packed, UnpacksNoMoreThanItIsAskedFor) {
  const std::string packed = pack(std::string(1000, 'x'));
  EXPECT_TRUE(unpack(packed, 1000).ok());
  EXPECT_FALSE(unpack(packed, 999).ok());
}

TEST(Seal, IsAnHmac) {
  // RFC 4231, cases 1, 2 and 6
  EXPECT_EQ(hmac_sha256(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// A record of this user's with one accepted verdict.
class SealTest : public testing::Test {
 protected:
  SealTest() {
    const auto run = store_.begin_run({.command = "kw eval --batch x"}, std::vector{item_by_hand(1, "// one\n")});
    EXPECT_TRUE(run.ok());
    const Verdict verdict = verdict_by_hand(100, 2);
    Circumstances around = around_by_hand(*store_.add_machine(machine_by_hand()));
    around.key = "the key";
    EXPECT_TRUE(store_.record(store_.open_items(*run)->at(0).id, verdict, json_by_hand(verdict), around).ok());
  }
  std::size_t accepted_kernels() const { return store_.accepted_kernels(hash_of(task_by_hand()), "this")->size(); }
  bool is_kept() const { return store_.earlier("the key")->has_value(); }

  const ScratchFolder folder_, config_folder_;
  const ScratchVariable config_{"XDG_CONFIG_HOME", config_folder_.path().string()};
  Store store_ = *Store::open(folder_.path());
};

TEST_F(SealTest, CountsWhatWasJudgedHere) {
  EXPECT_EQ(accepted_kernels(), 1u);
  EXPECT_TRUE(is_kept());
  EXPECT_TRUE(store_.run(1)->is_own);
  const auto key = config_folder_.path() / "kernelwright" / "record.key";
  EXPECT_EQ(std::filesystem::status(key).permissions(), std::filesystem::perms(0600));
}

TEST_F(SealTest, CountsNothingThatWasChangedByHand) {
  for (const char* change :
       {"UPDATE verdict SET time_ns = 1", "UPDATE verdict SET key = 'the key', stage = 'accepted ', accepted = 1",
        "UPDATE speedup SET median = 99", "UPDATE rival SET name = 'mnn'", "UPDATE verdict SET json = x'00'",
        "UPDATE verdict SET seal = ''", "UPDATE verdict SET seal = 'x'", "UPDATE item SET position = 7",
        "UPDATE candidate SET hash = 'x'", "UPDATE source SET hash = 'x'", "UPDATE machine SET hash = 'x'",
        "UPDATE candidate SET settings = '{\"flags\":\"-fplugin=evil\"}'", "UPDATE candidate SET author = 'me'",
        "UPDATE item SET label = '{\"technique\":\"x\"}'", "UPDATE candidate SET notes = 'x'",
        "UPDATE candidate SET file = 'x'", "UPDATE machine SET facts = '{}'"}) {
    ASSERT_TRUE(store_.database().execute("SAVEPOINT before").ok());
    ASSERT_TRUE(store_.database().execute(change).ok()) << change;
    EXPECT_EQ(accepted_kernels(), 0u) << change;
    EXPECT_FALSE(is_kept()) << change;
    ASSERT_TRUE(store_.database().execute("ROLLBACK TO before; RELEASE before").ok());
  }
  EXPECT_EQ(accepted_kernels(), 1u);
  ASSERT_TRUE(store_.database().execute("UPDATE run SET rules = '{\"model\":\"command:evil\"}'").ok());
  EXPECT_FALSE(store_.run(1)->is_own);
}

// As kw sealed verdicts before it sealed their labels.
TEST_F(SealTest, CountsWhatWasSealedWithoutItsLabel) {
  ASSERT_TRUE(store_.database().execute("UPDATE verdict SET seal = 'x'").ok());
  ASSERT_EQ(accepted_kernels(), 0u);
  auto row = store_.database().prepare(
      "SELECT run.origin, item.position, item.purpose, task.hash, candidate.hash, source.hash, machine.hash, "
      "verdict.at, stage, accepted, terms, time_ns, noise, roof_fraction, kept, key, json, build FROM verdict "
      "JOIN item ON item.id = verdict.item JOIN run ON run.id = item.run JOIN task ON task.id = item.task "
      "JOIN machine ON machine.id = verdict.machine LEFT JOIN candidate ON candidate.id = item.candidate "
      "LEFT JOIN source ON source.id = candidate.source WHERE accepted = 1");
  ASSERT_TRUE(row.ok() && *row->step());
  std::string content = "verdict;";
  for (int i = 0; i < row->columns(); ++i) content += parts_joined({row->text(i)});
  auto speedups = store_.database().prepare(
      "SELECT speedup.position, rival.name, rival.version, median, low, high, pairs, claimed, times FROM speedup JOIN "
      "rival ON rival.id = speedup.rival JOIN verdict ON verdict.item = speedup.item WHERE accepted = 1 "
      "ORDER BY speedup.position");
  ASSERT_TRUE(speedups.ok());
  while (*speedups->step()) {
    for (int i = 0; i < speedups->columns(); ++i) content += parts_joined({speedups->text(i)});
  }
  auto change = store_.database().prepare("UPDATE verdict SET seal = ? WHERE accepted = 1");
  ASSERT_TRUE(change->bind(seal_of(content)).run().ok());
  EXPECT_EQ(accepted_kernels(), 1u);
}

TEST_F(SealTest, CountsNothingOfAnotherUserUntilItIsAdopted) {
  const ScratchFolder other;
  const ScratchVariable config("XDG_CONFIG_HOME", other.path().string());
  EXPECT_EQ(accepted_kernels(), 0u);
  EXPECT_FALSE(is_kept());
  EXPECT_FALSE(store_.run(1)->is_own);
  EXPECT_EQ(store_.elsewhere("Relu", hash_of(task_by_hand()), "this")->foreign, 1);
  const auto adopted = store_.adopt_all();
  ASSERT_TRUE(adopted.ok()) << adopted.error().message;
  EXPECT_EQ(adopted->verdicts, 1);
  EXPECT_EQ(accepted_kernels(), 1u);
  EXPECT_TRUE(store_.run(1)->is_own);
}

// What a forger would have us seal: the row is changed between our writing and our reading it back.
TEST_F(SealTest, RunsNoTriggerOfTheFile) {
  ASSERT_TRUE(store_.database()
                  .execute("CREATE TRIGGER forger AFTER INSERT ON verdict BEGIN "
                           "UPDATE verdict SET accepted = 1, time_ns = 1 WHERE item = NEW.item; END")
                  .ok());
  const auto run = store_.begin_run({.command = "x"}, std::vector{item_by_hand(1, "// slow and wrong\n")});
  ASSERT_TRUE(run.ok());
  const Verdict verdict{.task = "Relu", .target = "cpu", .stage = VerdictStage::verify};
  const auto around = around_by_hand(*store_.add_machine(machine_by_hand()));
  ASSERT_TRUE(store_.record(store_.open_items(*run)->at(0).id, verdict, json_by_hand(verdict), around).ok());
  EXPECT_EQ(store_.run(*run)->accepted, 0);
  EXPECT_EQ(accepted_kernels(), 1u);
}

TEST_F(SealTest, AKernelOfATaskThatWasExchangedCountsForNothing) {
  for (const char* change : {"UPDATE task SET name = 'Gelu'", "UPDATE task SET text = x'00'"}) {
    ASSERT_TRUE(store_.database().execute("SAVEPOINT before").ok());
    ASSERT_TRUE(store_.database().execute(change).ok()) << change;
    EXPECT_EQ(accepted_kernels(), 0u) << change;
    EXPECT_EQ(store_.elsewhere("Gelu", hash_of(task_by_hand()), "this")->foreign, 1) << change;
    EXPECT_FALSE(store_.task(hash_of(task_by_hand())).ok()) << change;
    ASSERT_TRUE(store_.database().execute("ROLLBACK TO before; RELEASE before").ok());
  }
}

TEST_F(SealTest, JudgesNothingThatIsNotWhatItsHashSays) {
  ASSERT_TRUE(store_.begin_run({.command = "x"}, std::vector{item_by_hand(1, "// two\n")}).ok());
  ASSERT_EQ(store_.open_items(2)->size(), 1u);
  const std::string evil = pack("// evil\n");
  auto change = store_.database().prepare("UPDATE source SET text = ?");
  ASSERT_TRUE(change->bind_bytes(evil).run().ok());
  EXPECT_FALSE(store_.open_items(2).ok());
}

// Such a file makes a query give two rows where a key was, or compute a gigabyte for a name.
TEST_F(SealTest, OpensNoStoreOfAnotherForm) {
  for (const char* change : {"ALTER TABLE task RENAME TO old; CREATE TABLE task AS SELECT * FROM old",
                             "CREATE TABLE more (a, b AS (hex(zeroblob(100000000))))", "CREATE VIEW more AS SELECT 1",
                             "CREATE TRIGGER forger AFTER INSERT ON verdict BEGIN DELETE FROM verdict; END",
                             "DROP INDEX verdict_by_key", "ALTER TABLE run ADD COLUMN more TEXT"}) {
    const ScratchFolder other;
    std::filesystem::copy_file(Store::file_in(folder_.path()), Store::file_in(other.path()));
    ASSERT_TRUE(Store::open(other.path()).ok());
    ASSERT_TRUE(Database::open(Store::file_in(other.path()), Database::Access::write)->execute(change).ok()) << change;
    const auto store = Store::open_existing(other.path());
    ASSERT_FALSE(store.ok()) << change;
    EXPECT_NE(store.error().message.find("not a store of kw"), std::string::npos) << store.error().message;
    EXPECT_FALSE(Store::open(other.path()).ok()) << change;
  }
}

// Stores made by them exist, and are held against their text.
TEST(Schema, HasStepsThatAreNotEdited) {
  const auto steps = schema_steps();
  ASSERT_GE(steps.size(), 3u);
  EXPECT_EQ(sha256(steps[0]).substr(0, 16), "cc73dad29c5052a4");
  EXPECT_EQ(sha256(steps[1]).substr(0, 16), "19a26337cafdc80a");
  EXPECT_EQ(sha256(steps[2]).substr(0, 16), "402c57c1a91c556f");
}

TEST_F(SealTest, GivesOutNoSourceThatWasExchanged) {
  const std::string hash = sha256("// one\n");
  ASSERT_TRUE(store_.source(hash).ok());
  const std::string evil = pack("// evil\n");
  auto change = store_.database().prepare("UPDATE source SET text = ?");
  ASSERT_TRUE(change->bind_bytes(evil).run().ok());
  EXPECT_FALSE(store_.source(hash).ok());
}

TEST_F(SealTest, LearnsNothingFromLessonsOfOthers) {
  const std::vector<Lesson> lessons = {{.family = "Conv", .task = "Conv", .technique = "direct", .time = 0.5}};
  ASSERT_TRUE(add_lessons(store_, "this", lessons).ok());
  EXPECT_EQ(lessons_of(store_, "this", "Conv")->size(), 1u);
  ASSERT_TRUE(store_.database().execute("UPDATE lesson SET time = 0.001").ok());
  EXPECT_EQ(lessons_of(store_, "this", "Conv")->size(), 0u);
}

TEST_F(SealTest, OpensNoStoreThatIsALink) {
  const ScratchFolder other;
  std::filesystem::create_symlink(Store::file_in(folder_.path()), Store::file_in(other.path()));
  EXPECT_FALSE(Store::open(other.path()).ok());
  EXPECT_FALSE(Store::open_existing(other.path()).ok());
  std::filesystem::create_directory_symlink(folder_.path(), other.path() / ".kw");
  EXPECT_FALSE(Store::open(other.path() / ".kw").ok());
  EXPECT_FALSE(Store::open_existing(other.path() / ".kw").ok());
}

TEST_F(SealTest, OnlyReadsTheStoreOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const auto file = Store::file_in(folder_.path());
  ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(Store::open(folder_.path()).ok());
  const auto read = Store::open_existing(folder_.path());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read->database().execute("UPDATE run SET command = 'x'").ok());
  EXPECT_EQ(read->runs()->size(), 1u);
}

TEST_F(SealTest, LocksNoFileThatALinkNames) {
  ASSERT_TRUE(write_file(folder_.path() / "victim", "precious").ok());
  std::filesystem::create_symlink("victim", folder_.path() / "runs.lock");
  EXPECT_FALSE(RunLock::take(folder_.path(), 1).ok());
  EXPECT_EQ(*read_file(folder_.path() / "victim"), "precious");
}

TEST_F(StoreTest, GivesBackAllThatWasRecorded) {
  {
    Store store = open();
    const std::int64_t run = run_of_two(store);
    judge_all(store, run);
    ASSERT_TRUE(store.set_state(run, RunState::done).ok());
  }
  const Store store = open();
  const auto run = store.find_run("r1");
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->state, RunState::done);
  EXPECT_EQ(run->about.command, "kw eval --batch x");
  EXPECT_EQ(run->planned, 2);
  EXPECT_EQ(run->done, 2);
  EXPECT_EQ(run->accepted, 2);
  EXPECT_DOUBLE_EQ(*run->speedup, 2);
  EXPECT_EQ(run->rival, "plain");
  int seen = 0;
  const Status status = store.each_recorded(run->id, [&](const Recorded& one) -> Status {
    EXPECT_EQ(one.position, ++seen);
    EXPECT_EQ(one.settings, R"({"TILE":"8"})");
    EXPECT_EQ(one.json, json_by_hand(verdict_by_hand(100, 2)));
    EXPECT_EQ(*store.source(one.source_hash), seen == 1 ? "one" : "two");
    EXPECT_EQ(unpack_pairs(one.speedups.at(0).packed_times)->at(3).b_ns, 206);
    EXPECT_EQ(store.machine(one.machine)->name, "A Processor");
    return {};
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(seen, 2);
}

TEST_F(StoreTest, KnowsWhatIsLeft) {
  Store store = open();
  const std::int64_t run = run_of_two(store);
  const auto open = store.open_items(run);
  ASSERT_EQ(open->size(), 2u);
  EXPECT_EQ(open->at(1).what.candidate->source, "two");
  EXPECT_EQ(*open->at(1).what.task, task_by_hand());
  const std::int64_t machine = *store.add_machine(machine_by_hand());
  ASSERT_TRUE(store.record(open->at(0).id, {}, json_by_hand({}), around_by_hand(machine)).ok());
  EXPECT_EQ(store.open_items(run)->size(), 1u);
  EXPECT_EQ(store.open_items(run)->at(0).what.position, 2);
}

TEST_F(StoreTest, KeepsASourceOnce) {
  Store store = open();
  run_of_two(store, "same", "same");
  run_of_two(store, "same", "other");
  EXPECT_EQ(rows(store, "source"), 2);
  EXPECT_EQ(rows(store, "task"), 1);
}

TEST_F(StoreTest, RefusesASecondVerdict) {
  Store store = open();
  const std::int64_t run = run_of_two(store);
  const std::int64_t item = store.open_items(run)->at(0).id;
  judge_all(store, run);
  EXPECT_FALSE(store.record(item, {}, "{}", around_by_hand(1)).ok());
  EXPECT_FALSE(store.record(999, {}, "{}", around_by_hand(1)).ok());
  EXPECT_EQ(rows(store, "verdict"), 2);
}

TEST_F(StoreTest, BeginsARunWholeOrNotAtAll) {
  Store store = open();
  std::vector<NewItem> items = {item_by_hand(1, "one"), item_by_hand(2, "two")};
  items[1].candidate->parents = {"nobody"};
  EXPECT_FALSE(store.begin_run({.command = "x"}, items).ok());
  for (const char* table : {"run", "item", "source", "candidate", "task"}) EXPECT_EQ(rows(store, table), 0) << table;
}

TEST_F(StoreTest, RemovesARunWithWhatOnlyItUses) {
  Store store = open();
  const std::int64_t first = run_of_two(store, "shared", "mine");
  const std::int64_t second = run_of_two(store, "shared", "other");
  judge_all(store, first);
  judge_all(store, second);
  // A child of the first run's second candidate keeps that one.
  NewItem child = item_by_hand(3, "child");
  child.candidate->parents = {hash_of(*item_by_hand(2, "mine").candidate)};
  ASSERT_TRUE(store.add_item(second, child).ok());
  ASSERT_TRUE(store.remove_run(first).ok());
  EXPECT_EQ(rows(store, "source"), 4);
  EXPECT_EQ(rows(store, "verdict"), 2);
  EXPECT_EQ(rows(store, "speedup"), 2);
  ASSERT_TRUE(store.remove_run(second).ok());
  for (const char* table : {"run", "item", "source", "candidate", "task", "verdict", "speedup", "machine", "rival"}) {
    EXPECT_EQ(rows(store, table), 0) << table;
  }
  EXPECT_EQ(run_of_two(store), 3) << "a removed run's name is not used again";
}

TEST_F(StoreTest, OffersTheNearestRuns) {
  Store store = open();
  EXPECT_NE(store.find_run("r1").error().message.find("none yet"), std::string::npos);
  run_of_two(store);
  EXPECT_NE(store.find_run("r2").error().message.find("nearest: r1"), std::string::npos);
}

TEST_F(StoreTest, SaysWhenMachinesOrRivalsDiffer) {
  Store store = open();
  const std::int64_t run = run_of_two(store);
  const auto open = store.open_items(run);
  const Verdict verdict = verdict_by_hand(100, 2);
  const std::int64_t here = *store.add_machine(machine_by_hand("here"));
  const std::int64_t there = *store.add_machine(machine_by_hand("there"));
  ASSERT_TRUE(store.record(open->at(0).id, verdict, json_by_hand(verdict), around_by_hand(here, "1")).ok());
  EXPECT_EQ(store.run(run)->machines, 1);
  EXPECT_FALSE(store.run(run)->rival_changed);
  ASSERT_TRUE(store.record(open->at(1).id, verdict, json_by_hand(verdict), around_by_hand(there, "2")).ok());
  EXPECT_EQ(store.run(run)->machines, 2);
  EXPECT_TRUE(store.run(run)->rival_changed);
  const std::string task = hash_of(task_by_hand());
  EXPECT_EQ(store.accepted_kernels(task, "here")->size(), 1u);
  EXPECT_EQ(store.accepted_kernels(task, "here")->at(0).version, "1");
  EXPECT_EQ(store.elsewhere("Relu", task, "here")->other_machines, 1);
}

TEST_F(StoreTest, SaysHowAStoreComesToBe) {
  const auto none = Store::open_existing(folder_.path());
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("kw eval --batch FILE"), std::string::npos);
  EXPECT_FALSE(Store::open("/proc/nowhere").ok());
}

TEST_F(StoreTest, RefusesAStoreOfANewerVersion) {
  open();
  {
    const auto database = Database::open(Store::file_in(folder_.path()), Database::Access::write);
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99").ok());
  }
  const auto store = Store::open_existing(folder_.path());
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.error().message.find("version 99, made by a newer kw"), std::string::npos) << store.error().message;
  EXPECT_FALSE(Store::open(folder_.path()).ok());
}

// A store that version 1 made, as its own statements: what it holds must be there in every later version.
TEST_F(StoreTest, BringsAStoreOfVersionOneForward) {
  {
    const auto sql = read_file(std::filesystem::path(KW_SOURCE_DIR) / "tests/store/version_1.sql");
    ASSERT_TRUE(sql.ok()) << sql.error().message;
    const auto database = Database::open(Store::file_in(folder_.path()), Database::Access::create);
    const Status made = database->execute(sql->c_str());
    ASSERT_TRUE(made.ok()) << made.error().message;
  }
  Store store = open();
  EXPECT_EQ(*store.database().number("PRAGMA user_version"), static_cast<std::int64_t>(schema_steps().size()));
  const auto run = store.find_run("r1");
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->about.command, "kw eval --batch old.jsonl");
  EXPECT_EQ(run->planned, 2);
  EXPECT_EQ(run->done, 1);
  EXPECT_DOUBLE_EQ(*run->speedup, 2);
  ASSERT_EQ(store.open_items(run->id)->size(), 1u);
  EXPECT_EQ(store.open_items(run->id)->at(0).what.candidate->source, "the second source\n");
  judge_all(store, run->id);
  EXPECT_EQ(store.run(run->id)->done, 2);
}

TEST_F(StoreTest, GoesForwardStepByStep) {
  const auto database = Database::open(folder_.path() / "steps.db", Database::Access::create);
  const char* const steps[] = {"CREATE TABLE a (x); INSERT INTO a VALUES (1)",
                               "CREATE TABLE b AS SELECT x + 1 AS x FROM a",
                               "CREATE TABLE nonsense AS SELECT x FROM nowhere"};
  ASSERT_TRUE(bring_forward(*database, std::span(steps).first(1)).ok());
  ASSERT_TRUE(bring_forward(*database, std::span(steps).first(2)).ok());
  EXPECT_EQ(*database->number("SELECT x FROM b"), 2);
  EXPECT_FALSE(bring_forward(*database, steps).ok());
  EXPECT_EQ(*database->number("PRAGMA user_version"), 2) << "a step that fails changes nothing";
}

TEST_F(StoreTest, SaysWhatADamagedStoreNeeds) {
  ASSERT_TRUE(write_file(Store::file_in(folder_.path()), std::string(10'000, 'x')).ok());
  const auto store = Store::open_existing(folder_.path());
  ASSERT_FALSE(store.ok());
  EXPECT_NE(store.error().message.find("kw runs rescue"), std::string::npos) << store.error().message;
  const ScratchFolder other;
  const auto nothing = rescue(folder_.path(), other.path());
  ASSERT_FALSE(nothing.ok());
  EXPECT_NE(nothing.error().message.find("nothing can be saved"), std::string::npos) << nothing.error().message;
}

TEST_F(StoreTest, SavesWhatCanBeReadOfADamagedStore) {
  constexpr int kItems = 300;
  {
    Store store = open();
    std::vector<NewItem> items;
    for (int i = 1; i <= kItems; ++i) items.push_back(item_by_hand(i, "// source " + std::to_string(i)));
    const std::int64_t run = *store.begin_run({.command = "x"}, items);
    judge_all(store, run);
    ASSERT_TRUE(store.database().execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  }
  const auto file = Store::file_in(folder_.path());
  const auto pages = std::filesystem::file_size(file) / 4096;
  ASSERT_GT(pages, 60u);
  for (const std::uintmax_t page : {pages / 2, pages * 3 / 4}) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(page * 4096));
    bytes << std::string(4096, '\xee');
  }
  const ScratchFolder saved;
  const auto rescued = rescue(folder_.path(), saved.path() / "new");
  ASSERT_TRUE(rescued.ok()) << rescued.error().message;
  EXPECT_EQ(rescued->runs, 1);
  EXPECT_GT(rescued->verdicts, kItems / 2);
  const auto store = Store::open_existing(saved.path() / "new");
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_EQ(*store->database().number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
  EXPECT_EQ(store->run(1)->done, rescued->verdicts);
  EXPECT_FALSE(rescue(folder_.path(), saved.path() / "new").ok()) << "never over another store";
}

// From the first instant on, when neither finds a store.
TEST_F(StoreTest, ServesTwoProgramsAtOnce) {
  constexpr int kEach = 40;
  std::vector<pid_t> children;
  for (int program = 0; program < 2; ++program) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = Store::open(folder_.path());
      if (!store.ok()) ::_exit(1);
      std::vector<NewItem> items;
      for (int i = 1; i <= kEach; ++i) items.push_back(item_by_hand(i, fmt::format("{} {}", program, i)));
      const auto run = store->begin_run({.command = "x"}, items);
      if (!run.ok()) ::_exit(2);
      judge_all(*store, *run);
      ::_exit(testing::Test::HasFailure() ? 3 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const Store store = open();
  const auto runs = store.runs();
  ASSERT_EQ(runs->size(), 2u);
  for (const RunSummary& run : *runs) EXPECT_EQ(run.done, kEach);
}

TEST_F(StoreTest, IsMadeByManyProgramsAtOnce) {
  for (int round = 0; round < 20; ++round) {
    const ScratchFolder folder;
    int start[2];
    ASSERT_EQ(::pipe(start), 0);
    std::vector<pid_t> children;
    for (int program = 0; program < 4; ++program) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(start[1]);
        char none = 0;
        [[maybe_unused]] const auto ended = ::read(start[0], &none, 1);  // until all are there
        ::_exit(Store::open(folder.path()).ok() ? 0 : 1);
      }
      children.push_back(child);
    }
    ::close(start[0]);
    ::close(start[1]);
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
  }
}

TEST_F(StoreTest, AFullDiskLosesNothing) {
  Store store = open();
  const std::int64_t run = run_of_two(store);
  const auto open = store.open_items(run);
  const std::int64_t machine = *store.add_machine(machine_by_hand());
  const Verdict verdict = verdict_by_hand(100, 2);
  ASSERT_TRUE(store.record(open->at(0).id, verdict, json_by_hand(verdict), around_by_hand(machine)).ok());
  // No page more than there are; noise does not pack into what is left of them.
  ASSERT_TRUE(store.database().execute("PRAGMA max_page_count = 1").ok());
  std::string noise;
  for (int i = 0; i < 1000; ++i) noise += sha256(std::to_string(i));
  const Status full = store.record(open->at(1).id, verdict, noise, around_by_hand(machine));
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.error().message.find("the disk is full"), std::string::npos) << full.error().message;
  EXPECT_EQ(store.run(run)->done, 1);
  ASSERT_TRUE(store.database().execute("PRAGMA max_page_count = 1000000").ok());
  EXPECT_TRUE(store.record(open->at(1).id, verdict, noise, around_by_hand(machine)).ok());
  EXPECT_EQ(store.run(run)->done, 2);
}

TEST_F(StoreTest, LetsOneProgramWorkOnARun) {
  open();
  {
    const auto lock = RunLock::take(folder_.path(), 3);
    ASSERT_TRUE(lock.ok()) << lock.error().message;
    const auto second = RunLock::take(folder_.path(), 3);
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos) << second.error().message;
    EXPECT_TRUE(RunLock::take(folder_.path(), 4).ok());
    EXPECT_EQ(RunLock::owner(folder_.path(), 3), ::getpid());
  }
  EXPECT_EQ(RunLock::owner(folder_.path(), 3), std::nullopt);
  EXPECT_TRUE(RunLock::take(folder_.path(), 3).ok());
}

}  // namespace
}  // namespace kw::store
