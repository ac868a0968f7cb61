# frozen_string_literal: true

require "test_helper"
require "elah"
require "open3"
require "rbconfig"
require "active_support"
require "active_support/concurrency/share_lock"
require "active_support/execution_wrapper"

# The lock under which Rails reloads code, and its executor, with requests in flight.
class ActiveSupportAdapterTest < Minitest::Test
  ROOT = File.expand_path("../../..", __dir__)
  UNLOAD = { purpose: :unload, compatible: %i[load unload], after_compatible: %i[load unload] }.freeze

  def setup = Elah::Adapters.install

  # All fibers of the loop share a thread. The lock took them for one owner, and classes were unloaded while requests
  # used them.
  def test_code_is_unloaded_when_no_request_runs
    events = []
    Elah.run do
      requests = Thread::Queue.new
      lock = ActiveSupport::Concurrency::ShareLock.new
      running = Array.new(3) { Elah.async { lock.sharing { events << requests.pop } } }
      reload = Elah.async { lock.exclusive(**UNLOAD) { events << :unloaded } }
      3.times { requests << :ended }
      [*running, reload].each(&:value)
    end
    assert_equal %i[ended ended ended unloaded], events
  end

  # Until Rails 7.0 the hooks of the first ran when the second began, and once more at its end: a lease that `to_run`
  # took was given back while the request used it.
  def test_the_executor_completes_each_request_once_at_its_own_end
    events = []
    executor = executor_of(events)
    Elah.run do
      first_begins, first_ends = Array.new(2) { Thread::Queue.new }
      first = Elah.async do
        execution = executor.run!(reset: true)
        first_begins << true
        first_ends.pop
        execution.complete!
      end
      first_begins.pop
      executor.run!(reset: true).complete!
      executor.wrap { events << "wrapped" }
      first_ends << true
      first.value
    end
    assert_equal ["run 1", "run 2", "complete 2", "run 3", "wrapped", "complete 3", "complete 1"], events
  end

  # Without ActiveRecord, CurrentAttributes were empty in an Enumerator of a request, or in the resolvers of GraphQL.
  STATES = {
    "7.1" => "def self.context = Fiber.current; def self.owner = context",
    "7.0" => "def self.current = Fiber.current.active_support_execution_state ||= {}; private_class_method :current; " \
             "Fiber.attr_accessor :active_support_execution_state; def self.owner = current"
  }.freeze
  STATES.each do |version, methods|
    define_method(:"test_fibers_that_a_request_makes_have_its_state_in_#{version}") do
      script = <<~RUBY
        module ActiveSupport::IsolatedExecutionState
          @isolation_level = :thread
          singleton_class.attr_accessor :isolation_level
          #{methods}
        end
        require "elah"
        Elah::Adapters.install
        state = ActiveSupport::IsolatedExecutionState
        owners = -> { [state.owner, Enumerator.new { |list| list << state.owner }.next] }
        p(Elah.run { [1, 2].map { Elah.async(&owners).value } }.map { |one, same| one.equal?(same) })
      RUBY
      out, = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", "module ActiveSupport; end\n#{script}", chdir: ROOT)
      assert_equal "[true, true]\n", out
    end
  end

  # An app may have ActiveSupport without ActiveRecord: its CurrentAttributes leaked from one request to the next.
  def test_the_state_of_a_request_belongs_to_its_fiber
    stand_in = "module ActiveSupport; module IsolatedExecutionState; @isolation_level = :thread; " \
               "singleton_class.attr_accessor :isolation_level; end; end"
    script = "#{stand_in}; require 'elah'; Elah::Adapters.install; p Elah::Adapters::ActiveSupport.isolation_level"
    out, = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", script, chdir: ROOT)
    assert_equal ":fiber\n", out
  end

  def test_a_thread_outside_the_loop_owns_the_lock_as_ever
    lock = ActiveSupport::Concurrency::ShareLock.new
    assert_equal :unloaded, lock.sharing { lock.exclusive(**UNLOAD) { :unloaded } }
  end

  private

  def executor_of(events)
    count = 0
    Class.new(ActiveSupport::ExecutionWrapper) do
      to_run { events << "run #{@number = count += 1}" }
      to_complete { events << "complete #{@number}" }
    end
  end
end
