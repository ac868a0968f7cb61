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
        def self.context = Fiber.current
      end
    end
    module ActiveRecord
      module VERSION; STRING = ARGV.first; end
      module ConnectionAdapters
        class ConnectionPool; def checkin(connection) = (@returned ||= []) << connection; attr_reader :returned; end
        class AbstractAdapter
          ADAPTER_NAME = "None"
          attr_accessor :pool, :owner
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
  RUBY

  def installed(version)
    out, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", STAND_IN, version,
                                  chdir: File.expand_path("../../..", __dir__))
    assert_predicate status, :success?, out
    out.lines(chomp: true)
  end

  def test_until_7_0_the_pool_is_told_who_runs
    assert_equal ["cleared at nil", "[:ActiveRecord]", ":fiber", "true", "true"], installed("7.0.8")
  end

  def test_from_7_1_the_pool_counts_fibers_itself
    assert_equal ["cleared at nil", "[:ActiveRecord]", ":fiber", "false", "true"], installed("7.1.0")
    assert_equal ["cleared at nil", "[:ActiveRecord]", ":fiber", "false", "true"], installed("8.1.0")
  end

  def test_without_the_gem_nothing_happens
    out, = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", 'require "elah"; p Elah::Adapters.install',
                           chdir: File.expand_path("../../..", __dir__))
    assert_equal "[]\n", out
  end
end
