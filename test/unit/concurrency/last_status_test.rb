# frozen_string_literal: true

require "test_helper"
require "open3"
require "tmpdir"
require "support/elah_server"
require "support/patience"

# `$?` of tasks, and the processes that they no longer wait for. Ruby keeps the status with the thread: a request that
# waited after its command read the status of another one, or nil, and stored a failed command as done. A request that
# was cancelled while its command ran left a zombie.
class LastStatusTest < Minitest::Test
  include Patience

  COMMANDS = {
    system: ->(status) { system("exit #{status}") },
    backticks: ->(status) { `exit #{status}` },
    popen: ->(status) { IO.popen("exit #{status}", &:read) },
    wait: ->(status) { Process.wait(spawn("exit #{status}")) }
  }.freeze

  COMMANDS.each do |name, command|
    define_method(:"test_a_task_that_waits_keeps_the_status_of_its_#{name}") do
      read = Elah.run do
        tasks = Array.new(8) do |number|
          Elah.async do
            command.call(number)
            Array.new(3) { sleep(0.005) && $?.exitstatus }
          end
        end
        tasks.map(&:value)
      end
      assert_equal(Array.new(8) { |number| [number] * 3 }, read)
    end
  end

  def test_a_command_that_begins_in_another_task_clears_nothing
    Elah.run do
      system("exit 3")
      other = Elah.async { system("exit 4") }
      assert_equal 3, $?.exitstatus
      other.value
      assert_equal 3, $?.exitstatus
    end
  end

  def test_a_program_that_does_not_exist_is_kept_too
    Elah.run do
      assert_nil system("elah-has-no-such-program")
      Elah.async { system("true") }.value
      assert_equal 127, $?.exitstatus
    end
  end

  # As in a thread.
  def test_a_command_that_is_cut_short_leaves_no_status_and_a_wait_for_no_child_the_last_one
    Elah.run do
      system("exit 3")
      assert_raises(Errno::ECHILD) { Process.wait(Process.pid) }
      sleep(0.001)
      assert_equal 3, $?.exitstatus
      assert_raises(Timeout::Error) { Timeout.timeout(0.01) { system("sleep 0.1") } }
      sleep(0.001)
      assert_nil $?
    end
  end

  def test_a_fiber_of_the_task_shares_its_status
    Elah.run do
      Fiber.new { system("exit 3") }.resume
      Elah.async { system("true") }.value
      assert_equal 3, Enumerator.new { |items| items << $?.exitstatus }.next
    end
  end

  def test_the_next_request_of_a_fiber_pays_nothing
    app = <<~RUBY
      run lambda { |env|
        task = Elah.current_loop.current_task
        before = task.observer
        system("exit 3")
        sleep(0.001)
        [200, {}, [[before, $?.exitstatus].inspect]]
      }
    RUBY
    ElahServer.start(app, extension: ".ru") do |server|
      server.connect { |client| assert_equal ["[nil, 3]"] * 3, Array.new(3) { client.get("/").body } }
    end
  end

  def test_a_process_that_a_cancelled_task_has_waited_for_is_no_zombie
    Elah.run do
      waiting = Elah.async { Process.wait(@child = spawn("cat", in: (@input, @writer = IO.pipe).first)) }
      waiting.cancel.wait
      @writer.close
      @input.close
      wait_until("the child is reaped") { !child?(@child) }
    end
  end

  # The read of its output was cancelled, and nobody ever waited for the process.
  def test_a_command_in_backticks_goes_on_without_its_task_and_is_no_zombie
    Dir.mktmpdir do |folder|
      File.mkfifo(gate = File.join(folder, "gate"))
      Elah.run do
        waiting = Elah.async { `echo $$ > #{folder}/started; cat #{gate}; echo heard; touch #{folder}/done` }
        wait_until("the command runs") { File.size?("#{folder}/started") }
        waiting.cancel.wait
        File.write(gate, "")
        child = Integer(File.read("#{folder}/started"))
        wait_until("the child is reaped") { !child?(child) }
        assert_path_exists "#{folder}/done"
      end
    end
  end

  def test_a_task_may_wait_again_for_a_process
    Elah.run do
      child = spawn("sleep 30")
      assert_raises(Timeout::Error) { Timeout.timeout(0.01) { Process.wait(child) } }
      Process.kill(:KILL, child)
      assert_equal child, Process.wait(child)
      assert_predicate $?, :signaled?
    end
  end

  private

  def child?(pid)
    Process.kill(0, pid)
  rescue Errno::ESRCH
    false
  end
end
