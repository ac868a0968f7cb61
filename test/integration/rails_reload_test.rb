# frozen_string_literal: true

# The reloading of code in development, while requests wait.
require "test_helper"
require "support/gems"
return unless Gems.present?("railties", "actioncable", "activestorage", "pg", "mysql2", "sqlite3")

require "support/rails_api"

class RailsReloadTest < Minitest::Test
  include RailsApi

  WAITING = 20
  WAIT_SECONDS = 0.5
  RELOAD_SECONDS = 1
  ROUNDS = 10

  # Rails' lock counted threads, and the fibers of all requests share one: the next request got no response in 8 s.
  def test_code_is_reloaded_with_requests_in_flight
    with_copy do |folder|
      @file = File.join(folder, "app/controllers/versions_controller.rb")
      write_version(1, -60)
      serve(folder: folder, env: { "RAILS_ENV" => "development" }) do |server|
        assert_equal "version 1", server.get("/version").body
        times = []
        until times.any? { |time| time < WAIT_SECONDS + RELOAD_SECONDS } || times.size == ROUNDS
          times << reload(server, times.size + 2)
        end
        assert_operator times.min, :<, WAIT_SECONDS + RELOAD_SECONDS
      end
    end
  end

  # On Ruby 3.1 an autoload belongs to the thread: while one request waited in `connects_to` of the new
  # ApplicationRecord, the others met "uninitialized constant WidgetsController::Widget".
  def test_requests_at_once_after_a_change_find_the_new_classes
    with_copy do |folder|
      file = File.join(folder, "app/models/widget.rb")
      serve(folder: folder, env: { "RAILS_ENV" => "development" }) do |server|
        3.times do |round|
          assert_equal [200] * WAITING, statuses(server, "/widgets")
          File.write(file, "# #{round}\n", mode: "a")
        end
      end
    end
  end

  private

  # @return [Array<Integer>] of requests at once
  def statuses(server, path)
    clients = Array.new(WAITING) { server.connect.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n") }
    clients.map { |client| client.read_answer.status }
  ensure
    clients&.each(&:close)
  end

  # @return [Float] seconds until the new code answered
  def reload(server, version)
    clients = Array.new(WAITING) do
      server.connect.write("GET /version?seconds=#{WAIT_SECONDS} HTTP/1.1\r\nHost: a\r\n\r\n")
    end
    server.get("/hello") # the others have begun
    write_version(version, 0)
    seconds = measure { assert_equal "version #{version}", server.get("/version").body }
    waited = clients.map { |client| client.read_answer.to_h.values_at(:status, :body) }
    assert_equal [[200, "version #{version - 1}"]], waited.uniq
    seconds
  ensure
    clients&.each(&:close)
  end

  # Rails compares the times of files, and ignores what is of the future.
  def write_version(version, age)
    File.write(@file, File.read(@file).sub(/version \d+/, "version #{version}"))
    changed_at = Time.now + age
    File.utime(changed_at, changed_at, @file)
  end
end
