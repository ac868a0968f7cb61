# frozen_string_literal: true

# The commands of Rails, in an app that has been served by Puma: it has a config/puma.rb.
require "test_helper"
require "open3"
require "rbconfig"
require "support/gems"
return unless Gems.present?("railties", "actioncable", "activestorage", "pg", "mysql2", "sqlite3")

require "support/rails_api"

class RailsServerTest < Minitest::Test
  include RailsApi

  LIB = File.expand_path("../../lib", __dir__)

  def test_rails_server_with_the_option_u
    with_copy { |folder| assert_served(folder, %w[-u elah]) }
  end

  # As a team sets it once for all machines.
  def test_rails_server_with_the_variable
    with_copy { |folder| assert_served(folder, [], "RACK_HANDLER" => "elah") }
  end

  def test_several_workers
    serve(workers: 2) do |server|
      burst = RequestBurst.new(server, ["/widgets/create?name=a"] * 20 + ["/slow?seconds=0.1"] * 20)
      assert_equal({ 200 => 40 }, burst.statuses)
      assert_equal({ "widgets" => 40 }, server.get("/widgets").json)
    end
  end

  # The library may be loaded in every process, as Bundler does.
  def test_runner_and_console
    with_copy do |folder|
      code = "puts \"widgets \#{Widget.create!(name: 'a') && Widget.count}\""
      assert_includes rails(folder, "runner", code), "widgets 1"
      assert_includes rails(folder, "console", stdin_data: "#{code}\n"), "widgets 1\n"
    end
  end

  private

  # @return [Hash] the environment of a command of Rails
  def environment = RailsApi.env.merge("RUBYLIB" => LIB, "RUBYOPT" => "-relah")

  def rails(folder, *arguments, **options)
    out, errors, status = Open3.capture3(environment, RbConfig.ruby, "bin/rails", *arguments, chdir: folder, **options)
    assert_predicate status, :success?, errors
    out
  end

  def assert_served(folder, arguments, env = {})
    command = [RbConfig.ruby, "bin/rails", "server", "-b", "127.0.0.1", "-p", "0", *arguments]
    Open3.popen2e(environment.merge(env), *command, chdir: folder) do |_, output, process|
      lines = []
      lines << output.readline until lines.last&.match(ElahServer::LISTENING)
      HttpClient.open(lines.last[ElahServer::LISTENING, 1]) do |client|
        assert_equal "hello", client.get("/hello").body
        assert_equal({ "widgets" => 0 }, client.get("/widgets").json)
      end
      Process.kill(:TERM, process.pid)
      lines.concat(output.readlines)
      assert_predicate process.value, :success?, lines.join
    rescue EOFError
      flunk "It ended:\n#{lines.join}"
    ensure
      Process.kill(:KILL, process.pid) if process.alive?
    end
  end
end
