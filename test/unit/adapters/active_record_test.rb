# frozen_string_literal: true

# Which ActiveRecord is fitted in how. The later ones do not run on this Ruby: in a process of their own, constants
# stand for them.
require "test_helper"
require "open3"
require "rbconfig"

class ActiveRecordAdapterTest < Minitest::Test
  STAND_IN = <<~'RUBY'
    module ActiveSupport
      module IsolatedExecutionState
        singleton_class.attr_accessor :isolation_level
        Fiber.attr_accessor :active_support_execution_state
        if ARGV.first.start_with?("7.0")
          def self.current = Fiber.current.active_support_execution_state ||= {}
        else
          def self.context = Fiber.current
          def self.current = context.active_support_execution_state ||= {}
        end
        def self.state = current
      end
    end
    module ActiveRecord
      module VERSION; STRING = ARGV.first; end
      module ConnectionAdapters
        class ConnectionPool
          attr_reader :returned
          def checkin(connection) = (@returned ||= []) << connection
          def connection_cache_key(owner) = owner
        end
        class AbstractAdapter
          ADAPTER_NAME = "None"
          attr_accessor :pool, :owner
          attr_reader :lock
          def initialize = @lock = Monitor.new
          def lease = @owner = Fiber.current
          def transaction_open? = false
        end
      end
      module Handler
        def self.clear_active_connections!
          puts("cleared at #{ActiveSupport::IsolatedExecutionState.isolation_level.inspect}")
        end
      end
      class Base; def self.connection_handler = Handler; end
    end
    require "elah"
    puts Elah::Adapters.install.inspect
    puts ActiveSupport::IsolatedExecutionState.isolation_level.inspect
    ancestors = ActiveRecord::ConnectionAdapters::ConnectionPool.ancestors
    puts ancestors.include?(Elah::Adapters::ActiveRecord::Ownership::OfPool)
    connection = ActiveRecord::ConnectionAdapters::AbstractAdapter.new
    connection.pool = ActiveRecord::ConnectionAdapters::ConnectionPool.new
    Elah.run { connection.lease }
    puts connection.pool.returned == [connection]
    puts connection.pool.send(:connection_cache_key, Thread.current) == Thread.current
    Elah.run do
      state = ActiveSupport::IsolatedExecutionState.state
      puts Enumerator.new { |list| list << ActiveSupport::IsolatedExecutionState.state.equal?(state) }.next
    end
  RUBY

  def installed(version)
    out, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", STAND_IN, version,
                                  chdir: File.expand_path("../../..", __dir__))
    assert_predicate status, :success?, out
    out.lines(chomp: true)
  end

  # ActiveRecord 7.0 has no method for the owner of its state. Elah called it, and no app with that version started. The
  # state was that of the fiber: in an Enumerator of a handler, `connected_to` was lost.
  def test_until_7_0_the_pool_is_told_who_runs
    assert_equal ["cleared at nil", "[:ActiveRecord]", ":fiber", "true", "true", "true", "true"], installed("7.0.8")
  end

  def test_from_7_1_the_pool_counts_fibers_itself
    assert_equal ["cleared at nil", "[:ActiveRecord]", ":fiber", "false", "true", "true", "true"], installed("7.1.0")
    assert_equal ["cleared at nil", "[:ActiveRecord]", ":fiber", "false", "true", "true", "true"], installed("8.1.0")
  end

  def test_without_the_gem_nothing_happens
    out, = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", 'require "elah"; p Elah::Adapters.install',
                           chdir: File.expand_path("../../..", __dir__))
    assert_equal "[]\n", out
  end
end
