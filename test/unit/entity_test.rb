# frozen_string_literal: true

require "test_helper"
require "support/entity_case"
require "elah/entity/peer_links"

# One process: serial calls, what is stored, what is refused.
class EntityTest < EntityCase
  def test_a_call_changes_the_entity_and_the_store
    assert_equal 10, @accounts["42"].deposit(10)
    assert_equal 15, @accounts["42"].deposit(5)
    assert_equal [["balance", "15"]], @accounts["42"].stored
    assert_equal [["42 10", "10"], ["42 15", "5"]], @accounts.index(:history).range
  end

  def test_an_entity_may_have_methods_with_the_names_of_private_ones
    orders = Class.new(Elah::Entity) do
      entity_name "orders"
      def attach(file) = "#{key} has #{file}"
    end
    assert_equal "7 has a.pdf", orders.in(@store)["7"].attach("a.pdf")
  end

  def test_a_row_of_an_index_is_given_whole_or_in_parts
    @accounts["1"].write_row("whole", "ä")
    @accounts["1"].write_joined(4, "parts ", -5, " ", 1 << 61, "ä", "\0", 0)
    @accounts["1"].write_joined(1, "empty")
    assert_equal [["empty", ""], ["parts -5 #{1 << 61}", "ä\u00000"], %w[whole ä]].map { |row| row.map(&:b) },
                 @accounts.index(:history).range.map { |row| row.map(&:b) }
  end

  def test_a_row_that_is_no_text_is_refused
    [nil, :symbol, 1, 1.5].each do |wrong|
      assert_raises(TypeError, wrong.inspect) { @accounts["1"].write_row(wrong, "value") }
    end
    [nil, :symbol, 1.5, 1 << 62, ["nested"]].each do |wrong|
      assert_raises(TypeError, wrong.inspect) { @accounts["1"].write_joined(1, "key", "part", wrong) }
    end
    assert_raises(Elah::Store::InvalidKey) { @accounts["1"].write_joined(0, "value") }
    assert_raises(Elah::Store::InvalidKey) { @accounts["1"].write_joined(2, "k" * 480, 1, "value") }
    assert_raises(ArgumentError) { @accounts["1"].write_joined(2, "key") }
    assert_raises(TypeError) { @accounts["1"].write_joined("key", "value") }
    assert_empty @accounts.index(:history).range
  end

  # Messages between workers carry a number of 30 bits instead of folder and name.
  def test_entities_that_workers_could_not_tell_apart_are_refused
    seen = {}
    names = (0..).each do |index|
      name = "entities#{index}"
      number = Elah::Entity::Collection.number_of(@store, name)
      break [seen[number], name] if seen.key?(number)

      seen[number] = name
    end
    one, other = names.map { |name| Class.new(Elah::Entity) { entity_name name } }
    assert_same one.in(@store), Elah::Entity::Collection.at(one.in(@store).number)
    error = assert_raises(ArgumentError) { other.in(@store) }
    assert_match(/#{names.last} and #{names.first} cannot be told apart/, error.message)
  end

  # Its rows went to the table of the results of `once`, and nobody found them.
  def test_an_index_is_declared_before_the_first_collection
    late = Class.new(Elah::Entity) { entity_name("late") }
    late.index(:before)
    rows = late.in(@store)
    assert_match(/Declare the index after before/, assert_raises(ArgumentError) { late.index(:after) }.message)
    late.index(:before)
    assert_empty rows.index(:before).range
  end

  # Rows of the index of one were the state of the other.
  def test_entities_that_would_share_a_table_are_refused
    one = Class.new(Elah::Entity) { entity_name("shows") && index(:seats) }
    other = Class.new(Elah::Entity) { entity_name "shows:seats" }
    one.in(@store)
    error = assert_raises(ArgumentError) { other.in(@store) }
    assert_match(/shows:seats and shows would share a table/, error.message)
    assert_same one.in(@store), one.in(@store)
  end

  def test_what_was_answered_is_there_when_the_process_comes_back
    script = <<~RUBY
      require "support/entity_case"
      Elah.run { EntityCase::Account.in(Elah::Store.open(ARGV.first))["7"].deposit(3) }
      Process.kill(:KILL, Process.pid)
    RUBY
    system(RbConfig.ruby, "-Ilib", "-Itest", "-rtest_helper", "-e", script, @dir, exception: false)
    assert_equal 3, @accounts["7"].balance
  end

  def test_arguments_come_as_they_were_given
    assert_equal [1, [2], { more: 3 }], @accounts["1"].keywords(1, rest: [2], more: 3)
    assert_equal [{ rest: 1 }, [], {}], @accounts["1"].keywords({ rest: 1 })
    assert_raises(ArgumentError) { @accounts["1"].deposit }
    assert_raises(ArgumentError) { @accounts["1"].balance { nil } }
  end

  def test_only_public_methods_can_be_called
    %i[restore state attach index instance_variable_get].each do |name|
      assert_raises(NoMethodError, name) { @accounts["1"].public_send(name) } unless name == :instance_variable_get
      assert_kind_of NoMethodError, @accounts.call_many([["1", name]]).first, name
    end
  end

  def test_keys
    assert_equal 1, @accounts[42].deposit(1)
    assert_equal 2, @accounts["42"].deposit(1)
    assert_equal 1, @accounts["k" * 255].deposit(1)
    assert_equal 1, @accounts["\xff\x00".b].deposit(1)
    ["", "k" * 256].each do |key|
      assert_match(/1 to 255 bytes/, assert_raises(ArgumentError) { @accounts[key].balance }.message)
    end
  end

  def test_entities_whose_keys_begin_alike_share_nothing
    @accounts["4"].write("2x", "four")
    @accounts["42"].write("x", "forty-two")
    assert_equal [["2x", "four"]], @accounts["4"].stored
    assert_equal [["x", "forty-two"]], @accounts["42"].stored
  end

  def test_reads_see_what_was_written
    assert_equal ["1", [["a", "1"]], nil], @accounts["1"].write_and_read("a", "1")
    assert_equal [nil, [], nil], @accounts["1"].write_and_read("a", nil)
    %w[a b c d].each { |key| @accounts["2"].write(key, key.upcase) }
    assert_equal [%w[c C], %w[b B]], @accounts["2"].stored(from: "b", to: "d", reverse: true)
    assert_equal [%w[b B]], @accounts["2"].stored(after: "a", limit: 1)
    assert_equal [%w[a A], %w[b B], %w[c C], %w[d D]], @accounts["2"].all_stored(3)
  end

  # Both raised NoMethodError once there was a row.
  def test_keys_of_rows_by_first
    rooms = accounts("rooms") { def guests = [state, index(:history)].map { |rows| rows.each.map(&:first) } }
    rooms["red"].deposit(1)
    assert_equal [["balance"], ["red 1"]], rooms["red"].guests
  end

  def test_a_refusal_leaves_the_entity_as_it_is
    @accounts["1"].deposit(3)
    error = assert_raises(Account::Poor) { @accounts["1"].withdraw(4) }
    assert_equal "The balance is 3.", error.message
    assert_equal 3, @accounts["1"].balance
  end

  def test_after_an_exception_the_entity_is_what_is_stored
    @accounts["1"].deposit(3)
    assert_equal "broken", assert_raises(RuntimeError) { @accounts["1"].break }.message
    assert_equal 3, @accounts["1"].balance
    assert_equal [["balance", "3"]], @accounts["1"].stored
  end

  def test_a_refusal_after_a_write_is_an_exception_like_any_other
    @accounts["1"].deposit(3)
    assert_raises(Account::Poor) { @accounts["1"].break(Account::Poor) }
    assert_equal 3, @accounts["1"].balance
  end

  # The other entity promises for itself. The method had changed its balance already, which stayed so without its money.
  def test_a_refusal_of_another_entity_is_an_exception_like_any_other
    accounts = accounts("transfers") do
      def transfer(to, amount)
        @balance -= amount
        to.withdraw(1_000)
        state.put("balance", @balance.to_s)
      end

      def fail_with(error) = (@balance -= 1) && raise(error)
    end
    refusal = assert_raises(Account::Poor) { accounts["1"].deposit(100) && accounts["1"].transfer(accounts["2"], 60) }
    assert_equal "The balance is 0.", refusal.message
    assert_equal [100, 101], [accounts["1"].balance, accounts["1"].deposit(1)]
    from_elsewhere = Elah::PeerLinks::Failure.of(refusal).to_exception("another worker")
    assert_raises(Account::Poor) { Elah.run { accounts["1"].fail_with(from_elsewhere) } }
    assert_equal 101, accounts["1"].balance
  end

  def test_calls_to_one_entity_run_one_after_the_other
    accounts = accounts("slow") do
      def deposit_slowly(amount)
        before = @balance
        Elah.async { before }.value
        Elah.offload { before }
        @balance = before + amount
        state.put("balance", @balance.to_s)
        @balance
      end
    end
    balances = Elah.run { Array.new(20) { Elah.async { accounts["1"].deposit_slowly(1) } }.map(&:value) }
    assert_equal (1..20).to_a, balances
  end

  def test_an_entity_that_waits_holds_up_nobody_else
    Elah.run do
      gate = Gate.new
      waiting = Elah.async { @accounts["1"].wait(gate, :opened) }
      assert_equal 5, @accounts["2"].deposit(5)
      refute_predicate waiting, :done?
      gate << nil
      assert_equal :opened, waiting.value
    end
  end

  def test_a_call_that_comes_back_is_refused
    Elah.run do
      error = assert_raises(Elah::Entity::Reentrant) do
        @accounts["1"].ask(@accounts["2"], :ask, @accounts["1"], :balance)
      end
      assert_match(/1\]/, error.message)
      assert_raises(Elah::Entity::Reentrant) { @accounts["1"].ask(@accounts["1"], :balance) }
      assert_equal 0, @accounts["1"].balance
    end
  end

  def test_two_calls_that_wait_for_each_other_do_not_hang
    accounts = accounts("crossed") do
      def cross(gate, other)
        gate.pop
        other.deposit(1)
      end
    end
    Elah.run do
      gate = Gate.new
      calls = [%w[1 2], %w[2 1]].map { |from, to| Elah.async { accounts[from].cross(gate, accounts[to]) } }
      2.times { gate << nil }
      outcomes = calls.map { |call| call.wait.error }
      assert_equal 1, outcomes.grep(Elah::Entity::Reentrant).size, outcomes.inspect
    end
  end

  def test_a_fiber_that_a_call_has_started_may_not_come_back_either
    accounts = accounts("parents") do
      def delegate(reference) = Elah.async { reference.balance }.value
    end
    Elah.run { assert_raises(Elah::Entity::Reentrant) { accounts["1"].delegate(accounts["1"]) } }
  end

  def test_one_that_is_cancelled_in_line_takes_no_turn
    Elah.run do
      gate = Gate.new
      first = Elah.async { @accounts["1"].wait(gate, 1) }
      second = Elah.async { @accounts["1"].wait(gate, 2) }
      third = Elah.async { @accounts["1"].wait(gate, 3) }
      second.cancel.wait
      2.times { gate << nil }
      assert_equal [1, 3], [first.value, third.value]
    end
  end

  def test_many_calls_have_one_answer_each
    answers = @accounts.call_many([["1", :deposit, 3], ["2", :deposit, 4], ["1", :withdraw, 9], ["1", :deposit, 4],
                                   ["", :balance]])
    assert_equal [3, 4, 7], answers.values_at(0, 1, 3)
    assert_instance_of Account::Poor, answers[2]
    assert_instance_of ArgumentError, answers[4]
    assert_equal [7, 4], [@accounts["1"].balance, @accounts["2"].balance]
  end

  # It was taken for the end of the list: the calls behind it were not made.
  def test_nil_among_many_calls_fails_alone
    answers = @accounts.call_many([nil, ["1", :deposit, 3]])
    assert_equal [NoMethodError, 3], [answers[0].class, answers[1]]
  end

  def test_many_calls_keep_what_is_said_of_a_call
    3.times { |key| @accounts[key].balance }
    calls = [["0", :keywords, 1], ["1", :keywords, 1, { rest: 2 }], ["0", :keywords, 7, { more: 3 }],
             ["2", :keywords, *(1..12)], ["1", :keywords, { rest: 1 }], ["2", :keywords, [1], nil],
             ["1", :keywords, "last"]]
    alone = calls.map { |key, name, *arguments| outcome { @accounts[key].public_send(name, *arguments) } }
    assert_equal alone.map(&:inspect), @accounts.call_many(calls).map(&:inspect)
  end

  def outcome
    yield
  rescue StandardError => e
    e
  end

  def test_a_call_among_many_that_fails_leaves_its_entity_as_it_is_stored
    2.times { |key| @accounts[key].deposit(5) }
    lives = Account::LIVES.dup
    answers = @accounts.call_many([["0", :deposit, 1], ["0", :break], ["0", :deposit, 1], ["1", :withdraw, 9],
                                   ["1", :balance], ["0", :balance]])
    assert_equal [6, 7, 5, 7], answers.values_at(0, 2, 4, 5)
    assert_equal ["broken", Account::Poor], [answers[1].message, answers[3].class]
    assert_equal({ "0" => lives["0"] + 1, "1" => lives["1"] }, Account::LIVES, "who says no stays in memory")
    assert_equal 7, @accounts["0"].balance
  end

  # An exception that is none of the app passes through; the entity goes on.
  def test_what_ends_the_caller_is_no_answer_of_one_call
    %w[1 2].each { |key| @accounts[key].balance }
    assert_raises(NoMemoryError) { @accounts.call_many([["1", :break, NoMemoryError], ["2", :break, NoMemoryError]]) }
    assert_equal([0, 0], %w[1 2].map { |key| @accounts[key].balance })
  end

  def test_one_of_many_calls_that_waits_is_waited_for
    Elah.run do
      3.times { |key| @accounts[key].balance }
      gate = Gate.new
      calls = %w[0 1 2 1].each_with_index.map { |key, number| [key, :wait, gate, number] }
      many = Elah.async { @accounts.call_many(calls) }
      gate << nil
      later = Elah.async { @accounts["1"].deposit(4) }
      3.times { gate << nil }
      assert_equal [0, 1, 2, 3], many.value
      assert_equal 4, later.value
    end
  end

  def test_an_entity_that_makes_many_calls_is_not_called_by_them
    accounts = nil
    accounts = accounts("many") { define_method(:ask_many) { |calls| accounts.call_many(calls) } }
    3.times { |key| accounts[key].balance }
    answers = accounts["0"].ask_many([["1", :deposit, 1], ["2", :deposit, 2], ["0", :deposit, 3], ["1", :balance]])
    assert_equal [1, 2, 1], answers.values_at(0, 1, 3)
    assert_instance_of Elah::Entity::Reentrant, answers[2]
    assert_equal([0, 1, 2], 3.times.map { |key| accounts[key].balance })
  end

  def test_a_class_needs_a_name_that_no_other_has
    assert_match(/entity_name/, assert_raises(ArgumentError) { Class.new(Elah::Entity).in(@store) }.message)
    accounts("mine")
    assert_match(/not of/, assert_raises(ArgumentError) { accounts("mine") }.message)
    assert_same @accounts, Account.in(Elah::Store.open(@dir, bytes_max: 64 * 1024**2))
  end

  # A shard has one epoch for all classes of a store: claims of one class do not fence another.
  def test_classes_share_a_store
    others = accounts("others")
    Elah.run { 10.times { [@accounts, others].each { |accounts| (0..9).each { |key| accounts[key].deposit(1) } } } }
    assert_equal [10, 10], [@accounts["3"].balance, others["3"].balance]
    claims = Elah::Shards::Commits.open([@store.table("any")], 0.0).claim([Elah::Shards.of("3", 256)], 256, 1)
    assert_equal 2, claims.first.epoch, "it was claimed once before"
  end

  def test_what_a_class_declares
    error = assert_raises(ArgumentError) { Class.new(Elah::Entity) { durability :tape } }
    assert_match(/:disk or :memory/, error.message)
    assert_match(/no index :nope/, assert_raises(ArgumentError) { @accounts.index(:nope) }.message)
    assert_equal :memory, Class.new(Class.new(Elah::Entity) { durability :memory }).durability
  end

  def test_another_thread_is_refused
    @accounts["1"].deposit(1)
    thread = Thread.new { Elah.run { @accounts["1"].balance } }
    thread.report_on_exception = false
    assert_raises(Elah::OutsideLoop) { thread.value }
  end
end
