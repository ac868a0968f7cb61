# frozen_string_literal: true

require "test_helper"
require "elah"
require "open3"
require "rbconfig"
require "active_support"
require "active_support/concurrency/share_lock"

# The lock under which Rails reloads code, with requests in flight.
class ActiveSupportAdapterTest < Minitest::Test
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

  # An app may have ActiveSupport without ActiveRecord: its CurrentAttributes leaked from one request to the next.
  def test_the_state_of_a_request_belongs_to_its_fiber
    stand_in = "module ActiveSupport; module IsolatedExecutionState; @isolation_level = :thread; " \
               "singleton_class.attr_accessor :isolation_level; end; end"
    script = "#{stand_in}; require 'elah'; Elah::Adapters.install; p Elah::Adapters::ActiveSupport.isolation_level"
    out, = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", script, chdir: File.expand_path("../../..", __dir__))
    assert_equal ":fiber\n", out
  end

  def test_a_thread_outside_the_loop_owns_the_lock_as_ever
    lock = ActiveSupport::Concurrency::ShareLock.new
    assert_equal :unloaded, lock.sharing { lock.exclusive(**UNLOAD) { :unloaded } }
  end
end
