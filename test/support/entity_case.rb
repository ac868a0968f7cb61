# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# A test with a store of its own, and entities that have accounts in it.
class EntityCase < Minitest::Test
  # A queue that can be an argument of a call in this process: its copy is the queue itself.
  class Gate < Thread::Queue
    ALL = {}.compare_by_identity
    private_constant :ALL

    undef_method :marshal_dump
    def self._load(number) = ALL.key(number.to_i)
    def _dump(_level) = (ALL[self] ||= ALL.size).to_s
  end

  # What a test calls. Its index has a row for each deposit.
  class Account < Elah::Entity
    index :history

    class Poor < Elah::Entity::Refusal; end

    attr_reader :balance

    # How often each came to life.
    LIVES = Hash.new(0)

    def restore
      LIVES[key] += 1
      @balance = state.get("balance").to_i
    end

    def deposit(amount)
      @balance += amount
      state.put("balance", @balance.to_s)
      index(:history).put("#{key} #{@balance}", amount.to_s)
      @balance
    end

    def withdraw(amount)
      raise Poor, "The balance is #{@balance}." if amount > @balance

      deposit(-amount)
    end

    # Changes what it should not have, and fails.
    def break(error = RuntimeError)
      deposit(1_000_000)
      raise error, "broken"
    end

    # Waits with its turn held.
    def wait(queue, value = nil)
      queue.pop
      value
    end

    # Waits until the named pipe has been written.
    def deposit_after(path, amount)
      Elah.offload { File.read(path) }
      deposit(amount)
    end

    def ask(reference, name, *arguments) = reference.public_send(name, *arguments)

    def keywords(first, rest: [], **others) = [first, rest, others]

    def stored(**conditions) = state.range(**conditions)
    def all_stored(batch) = state.each(batch: batch).to_a

    def write(key, value) = value ? state.put(key, value) : state.delete(key)

    def write_row(key, value) = index(:history).put(key, value)
    def write_joined(*parts) = index(:history).put_joined(*parts)

    def write_and_read(key, value)
      write(key, value)
      [state.get(key), state.range(prefix: key), index(:history).get("no such row")]
    end
  end

  def setup
    @dir = Dir.mktmpdir("elah-entity")
    @store = open_store
    @accounts = Account.in(@store)
    Account::LIVES.clear
  end

  def teardown
    @store.close
    FileUtils.remove_entry(@dir)
  end

  # A test of a class with other stores overrides it.
  def open_store = Elah::Store.open(@dir, bytes_max: 64 * 1024**2)

  # @return [Elah::Store] another opening of the store, after its close
  def open_again = open_store

  # Entities of a class like Account, with what the block declares.
  def accounts(name, store: @store, &block)
    Class.new(Account) do
      entity_name name
      class_eval(&block) if block
    end.in(store)
  end

  # Runs the block with a configuration of its own.
  def with_config(**options)
    previous = Elah.config
    Elah.config = Elah::Config.build(**options)
    yield
  ensure
    Elah.config = previous
  end

  # Raises what a call raised; the value of one that did not.
  def one(answer) = answer.is_a?(Exception) ? raise(answer) : answer
end
