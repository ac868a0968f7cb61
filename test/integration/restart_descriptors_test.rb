# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# What programs and processes have of the server that the app starts while it is loaded, after a restart as before.
class RestartDescriptorsTest < Minitest::Test
  include SupervisedCase

  # Both end with the image that has started them, and its workers.
  APP = <<~RUBY
    PROGRAM = IO.popen("cat", "w")
    READER, WRITER = IO.pipe
    CHILD = fork do
      WRITER.close
      READER.read
      exit!(0)
    end
    class Api < Elah::API
      format :txt
      get("/started") { "\#{PROGRAM.pid} \#{CHILD}" }
    end
    run Api
  RUBY

  [1, 2].each do |workers|
    # It had the sockets: after the server had stopped, clients connected and waited, and no other could listen there.
    define_method(:"test_a_program_that_is_started_by_the_app_of_#{workers}_has_no_socket") do
      restarted(workers) do |program, _child|
        assert_empty Dir["/proc/#{program}/fd/*"].map { |path| File.readlink(path) }.grep(/\Asocket:/)
      end
    end

    # It ignored the first one, as the server holds signals while it loads the app.
    define_method(:"test_a_fork_of_the_app_of_#{workers}_ends_by_its_first_term") do
      restarted(workers) do |_program, child|
        Process.kill(:TERM, child)
        wait_until("it has ended") { ended?(child) }
      end
    end
  end

  private

  # Yields the IDs of both processes of a server that has restarted.
  def restarted(workers)
    supervised(APP, workers: workers) do |server|
      before = started(server)
      server.signal(:HUP)
      wait_until("all of the next image serve") { !server.log[/Restarted;/].nil? || workers == 1 }
      wait_until("the next image serves") { (started(server) & before).empty? }
      yield(*started(server))
    end
  end

  def started(server) = server.get("/started").body.split.map(&:to_i)

  def ended?(pid)
    File.read("/proc/#{pid}/stat")[/.*\) (\w)/m, 1] == "Z"
  rescue Errno::ENOENT, Errno::ESRCH
    true
  end
end
