# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Blocks of the config file that run around forks.
class SupervisorHooksTest < Minitest::Test
  include SupervisedCase
  def test_hooks_run_where_they_belong
    config = <<~RUBY
      supervisor = Process.pid
      before_fork { $stderr.puts "before fork: \#{Process.pid == supervisor}" }
      before_worker_boot { $stderr.puts "boot: \#{Process.ppid == supervisor}" }
      after_worker_exit { |slot, status| $stderr.puts "after exit: \#{slot} \#{status.termsig}" }
    RUBY
    supervised_with_config(config) do |server|
      assert_equal(["before fork: true"] * 2 + ["boot: true"] * 2,
                   server.log.lines(chomp: true).grep(/\A(before|boot)/).sort)
      Process.kill(:KILL, worker_pids(server).last)
      server.wait_for(/after exit: 1 9/)
    end
  end

  def test_hooks_that_fail_do_not_end_a_server_that_serves
    config = <<~RUBY
      before_fork { raise "not now" if File.exist?(BROKEN) }
      after_worker_exit { raise "nor then" }
    RUBY
    supervised_with_config(config, boot_seconds: 4) do |server, broken|
      File.write(broken, "")
      Process.kill(:KILL, worker_pids(server).first)
      exit_hook = /after_worker_exit block failed: RuntimeError: nor then/
      server.wait_for(/#{exit_hook}.*Worker 0 could not be started: RuntimeError: not now/m)
      server.signal(:TTIN)
      server.wait_for(/Worker 2 did not boot: there are still 2 workers/)
      File.unlink(broken)
      wait_for_workers(server, 2)
      assert_equal "hello", server.get("/").body
    end
  end

  # A LoadError ended the supervisor, and the server with it.
  def test_a_hook_that_requires_what_is_not_there_does_not_end_a_server_that_serves
    config = <<~RUBY
      before_fork { require BROKEN if File.exist?(BROKEN) }
      after_worker_exit { raise NotImplementedError, "nor then" }
    RUBY
    supervised_with_config(config, boot_seconds: 4) do |server, broken|
      File.write(broken, "")
      Process.kill(:KILL, worker_pids(server).first)
      server.wait_for(/A block of after_worker_exit failed: NotImplementedError: nor then/)
      server.wait_for(/Worker 0 could not be started: .*A block of before_fork failed: LoadError/)
      File.unlink(broken)
      wait_for_workers(server, 2)
      assert_equal "hello", server.get("/").body
    end
  end

  # It ignored TERM and INT, and held the port after the server's end: clients connected, and nobody answered.
  def test_a_process_that_a_hook_forks_is_ended_by_term_and_has_no_socket_of_the_server
    config = <<~'RUBY'
      helper = lambda do |name|
        File.exist?(name) || File.write(name, fork { [$stdout, $stderr].each { |io| io.reopen(File::NULL) } && sleep })
      end
      before_fork { helper[File.join(__dir__, "before")] }
      after_worker_exit { helper[File.join(__dir__, "after")] }
    RUBY
    supervised_with_config(config) do |server, broken|
      Process.kill(:KILL, killed = worker_pids(server).last)
      wait_for_workers(server, 2, besides: [killed])
      helpers = %w[before after].map { |name| File.read(File.join(File.dirname(broken), name)).to_i }
      assert_equal ["hello"] * 4, Array.new(4) { server.get("/").body }
      server.stop
      assert_raises(Errno::ECONNREFUSED) { server.get("/") }
      assert_equal [false, false], helpers.map { |helper| ended?(helper) }
      helpers.each { |helper| Process.kill(:TERM, helper) }
      helpers.each { |helper| wait_until("it has ended") { ended?(helper) } }
    ensure
      helpers&.each { |helper| ended?(helper) || Process.kill(:KILL, helper) }
    end
  end

  # The fork ran what ends a worker. With one worker it removed the server's run folder, so `elah status` did not find
  # the server; with several the log had an error of the loop. In both it ran the app's `at_exit` blocks.
  def test_a_process_that_a_hook_of_the_boot_forks_ends_with_its_exit
    config = <<~'RUBY'
      before_worker_boot do
        at_exit { warn "at_exit runs in #{Process.pid}" }
        { "exits" => -> { exit(7) }, "raises" => -> { raise "boom" } }.each do |name, ending|
          pid = fork or ending.call
          warn "it #{name}: #{Process.wait2(pid).last.exitstatus}"
        end
      end
    RUBY
    [1, 2].each do |workers|
      supervised_with_config(config, workers: workers) do |server|
        wait_for_workers(server, workers)
        assert_equal ["it exits: 7", "it raises: 1"], server.log.scan(/^it .*: \d$/).uniq
        assert_equal workers,
                     server.log.scan(/ERROR \[\d+\] A fork left the block that made it.* RuntimeError: boom/).size
        refute_match(/RequestFinished|at_exit/, server.log)
        assert_equal "hello", server.get("/").body
      end
    end
  end

  # It removed the socket of the server that went on: new clients found nobody.
  def test_a_process_that_a_hook_forks_leaves_the_socket_when_it_exits
    config = <<~RUBY
      after_worker_exit do
        pid = fork or exit
        Process.wait(pid)
        $stderr.puts "the fork has ended"
      end
    RUBY
    Dir.mktmpdir do |folder|
      supervised_with_config(config, bind: "unix://#{folder}/socket") do |server|
        Process.kill(:KILL, worker_pids(server).first)
        server.wait_for(/the fork has ended/)
        assert_equal "hello", server.get("/").body
      end
    end
  end

  # ActiveRecord starts its reaper again after a fork, and marks its thread.
  def test_threads_that_the_fork_ends_are_named_unless_their_library_starts_them_again
    config = <<~RUBY
      Thread.new { Thread.stop }
      Thread.new { Thread.stop }.thread_variable_set(:fork_safe, true)
    RUBY
    supervised_with_config(config) do |server|
      line = server.wait_for(/^.*do not run in the workers: start them in before_worker_boot\. They are .*$/).to_s
      assert_equal ["2"], line.scan(/config\.rb:(\d+)/).flatten
    end
  end

  private

  # Nobody may reap it.
  def ended?(pid)
    File.read("/proc/#{pid}/stat")[/.*\) (\w)/m, 1] == "Z"
  rescue Errno::ENOENT, Errno::ESRCH
    true
  end
end
