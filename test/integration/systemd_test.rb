# frozen_string_literal: true

require "test_helper"
require "socket"
require "support/supervised_case"

# A service manager, played by a real datagram socket and by descriptors that a server inherits.
class SystemdTest < Minitest::Test
  include SupervisedCase

  # A manager's socket, in the file system or with an abstract name.
  def with_manager(abstract: false)
    Dir.mktmpdir do |folder|
      name = abstract ? "@elah-test-#{Process.pid}" : File.join(folder, "notify")
      manager = Socket.new(:UNIX, :DGRAM)
      manager.bind(Addrinfo.unix(name.sub(/\A@/, "\0"), :DGRAM))
      yield name, manager
    ensure
      manager&.close
    end
  end

  # The next message that has the line.
  def said(manager, line)
    loop do
      assert manager.wait_readable(patience_seconds), "#{line} was not said"
      lines = manager.recv(4096).lines(chomp: true)
      return lines if lines.include?(line)
    end
  end

  [false, true].each do |abstract|
    define_method(:"test_it_says_what_it_does_to_#{abstract ? 'an_abstract_socket' : 'a_socket'}") do
      with_manager(abstract: abstract) do |name, manager|
        supervised(env: { "NOTIFY_SOCKET" => name }) do |server|
          assert_includes said(manager, "READY=1"), "MAINPID=#{server.pid}"
          server.signal(:HUP)
          assert(said(manager, "RELOADING=1").any? { |line| line.match?(/\AMONOTONIC_USEC=\d+\z/) })
          assert_includes said(manager, "READY=1"), "MAINPID=#{server.pid}"
          server.signal(:TERM)
          said(manager, "STOPPING=1")
        end
      end
    end
  end

  # The manager was told of a restart, and never of its end.
  def test_a_restart_that_cannot_begin_is_over
    with_manager do |name, manager|
      Dir.mktmpdir do |folder|
        work = File.join(folder, "work")
        Dir.mkdir(work)
        inside = ["sh", "-c", "cd #{work} && exec \"$@\"", "sh"]
        supervised(env: { "NOTIFY_SOCKET" => name }, under: inside) do |server|
          said(manager, "READY=1")
          File.rename(work, "#{work}.renamed")
          server.signal(:HUP)
          said(manager, "RELOADING=1")
          said(manager, "READY=1")
          server.wait_for(/The trial process cannot be started: No such file or directory.*The trial process failed/m)
          assert_equal "hello", server.get("/").body
        end
      end
    end
  end

  # The manager heard nothing of it, and its reload ended with its time limit.
  def test_one_process_whose_restart_fails_is_over_too
    with_manager do |name, manager|
      app = "raise 'no new code' if Elah::Restart.current.trial?\n#{File.read(APP)}"
      ElahServer.start(app, env: { "NOTIFY_SOCKET" => name }) do |server|
        said(manager, "READY=1")
        server.signal(:HUP)
        said(manager, "RELOADING=1")
        said(manager, "READY=1")
        assert_equal "hello", server.get("/").body
      end
    end
  end

  def test_it_gives_signs_of_life_while_the_workers_live
    with_manager do |name, manager|
      supervised(hang_seconds: 2, env: { "NOTIFY_SOCKET" => name, "WATCHDOG_USEC" => "400000" }) do |server|
        3.times { said(manager, "WATCHDOG=1") }
        assert_equal "hello", server.get("/").body
      end
    end
  end

  # No worker was ready, so the manager killed the server while its new workers booted.
  def test_it_gives_signs_of_life_while_all_workers_boot_again
    with_manager do |name, manager|
      config = "before_worker_boot { sleep 0.01 while File.exist?(BROKEN) }"
      env = { "NOTIFY_SOCKET" => name, "WATCHDOG_USEC" => "400000" }
      supervised_with_config(config, boot_seconds: 60, env: env) do |server, broken|
        said(manager, "READY=1")
        File.write(broken, "")
        worker_pids(server).each { |pid| Process.kill(:KILL, pid) }
        wait_until("others boot") { worker_pids(server).empty? }
        nil until manager.recv_nonblock(4096, exception: false) == :wait_readable # what was said before
        3.times { said(manager, "WATCHDOG=1") }
        File.unlink(broken)
        wait_for_workers(server, 2)
      end
    end
  end

  # Nobody sent a signal while the next image loaded the app, so the manager killed the server with its workers.
  [1, 2].each do |workers|
    define_method(:"test_the_manager_waits_longer_while_#{workers}_loads_the_app") do
      with_manager do |name, manager|
        env = { "NOTIFY_SOCKET" => name, "WATCHDOG_USEC" => "400000" }
        supervised(workers: workers, boot_seconds: 70, env: env) do |server|
          said(manager, "READY=1")
          server.signal(:HUP)
          said(manager, "WATCHDOG_USEC=70400000")
          assert_includes said(manager, "WATCHDOG_USEC=400000"), "WATCHDOG=1"
        end
      end
    end
  end

  def test_one_process_says_that_it_is_ready_and_that_it_stops
    with_manager do |name, manager|
      ElahServer.start(APP, env: { "NOTIFY_SOCKET" => name, "WATCHDOG_USEC" => "400000" }) do |server|
        said(manager, "READY=1")
        2.times { said(manager, "WATCHDOG=1") }
        server.signal(:TERM)
        said(manager, "STOPPING=1")
      end
    end
  end

  # What a manager does: descriptors from 3 on, and variables that name the process.
  STARTER = <<~'RUBY'
    require "socket"
    listener = TCPServer.new("127.0.0.1", 0)
    $stderr.puts "given #{listener.addr[1]}"
    $stderr.flush
    ENV.update("LISTEN_PID" => Process.pid.to_s, "LISTEN_FDS" => "1", "LISTEN_FDNAMES" => "http")
    exec(*ARGV, 3 => listener.fileno)
  RUBY

  def test_it_listens_on_the_sockets_of_a_manager_and_keeps_them_over_a_restart
    Dir.mktmpdir do |folder|
      app = File.join(folder, "app.rb")
      File.write(app, "class Api < Elah::API; get('/') { ENV.keys.grep(/LISTEN|ELAH_RESTART/).inspect }; end\nrun Api")
      command = [ElahServer::EXECUTABLE, "serve", app, "-w", "2", "-b", "tcp://127.0.0.1:1",
                 "--run-dir", File.join(folder, "run")]
      output, input = IO.pipe
      pid = Process.spawn(RbConfig.ruby, "-e", STARTER, *command, chdir: folder, err: input)
      input.close
      log = +""
      port = wait_for(output, log, /given (\d+)/)[1]
      wait_for(output, log, /listening on tcp:\/\/127\.0\.0\.1:#{port} with 2 workers/)
      ask = -> { HttpClient.open("tcp://127.0.0.1:#{port}") { |client| client.get("/").body } }
      assert_equal "[]", ask.call, "the app's own processes are not to find the variables"
      Process.kill(:USR2, pid)
      wait_for(output, log, /Restarted; listening on tcp:\/\/127\.0\.0\.1:#{port}/)
      assert_equal "[]", ask.call
      Process.kill(:TERM, pid)
      assert_predicate Process.wait2(pid).last, :success?
      pid = nil
    ensure
      Process.kill(:KILL, pid) && Process.wait(pid) if pid
    end
  end

  def wait_for(output, log, pattern)
    until (match = pattern.match(log))
      assert output.wait_readable(patience_seconds), "no #{pattern.inspect} in:\n#{log}"
      log << output.readpartial(4096)
    end
    match
  end

  def test_a_descriptor_that_does_not_listen_ends_the_start
    reader, writer = IO.pipe
    script = "ENV['LISTEN_PID'] = Process.pid.to_s; exec(*ARGV, 3 => 3)"
    pid = Process.spawn({ "LISTEN_FDS" => "1" }, RbConfig.ruby, "-e", script,
                        ElahServer::EXECUTABLE, "serve", APP, 3 => reader, err: writer)
    reader.close unless reader.fileno == 3
    assert_equal 1, Process.wait2(pid).last.exitstatus
    writer.close
  ensure
    [reader, writer].each { |io| io.close unless io.closed? }
  end
end
