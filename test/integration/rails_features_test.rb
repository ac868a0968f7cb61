# frozen_string_literal: true

# The parts of Rails beside records and streams: files, jobs, tagged logs.
require "test_helper"
require "support/gems"
return unless Gems.present?("railties", "actioncable", "activestorage", "pg", "mysql2", "sqlite3")

require "support/rails_api"

class RailsFeaturesTest < Minitest::Test
  include RailsApi

  FILE = Random.new(1).bytes(300_000).freeze

  def test_an_upload_to_active_storage_and_its_download
    Dir.mktmpdir do |storage|
      serve(env: { "STORAGE" => storage }) do |server|
        uploads = Array.new(5) { |index| upload(server, index) }
        uploads.each { |found| assert_equal FILE.bytesize, found["bytes"] }
        redirect = server.get(uploads.last["url"])
        assert_equal 302, redirect.status
        target = redirect["location"].sub(%r{\Ahttp://[^/]+}, "")
        download = server.get(target)
        assert_equal [200, FILE], [download.status, download.body]
        part = server.get(target, headers: { "Range" => "bytes=10-19" })
        assert_equal [206, FILE.byteslice(10, 10)], [part.status, part.body]
        assert_nothing_leaked(server)
      end
    end
  end

  # Its path is a Pathname.
  def test_a_file_of_the_app
    content = File.binread(File.join(FOLDER, "config.ru"))
    assert_equal [200, content], shared_server.get("/files/app").then { |response| [response.status, response.body] }
  end

  def test_jobs_inline_and_in_the_process
    names = Array.new(10) { |index| "j#{index}" }
    found = RequestBurst.new(shared_server, names.map { |name| "/widgets/later?name=#{name}" }).answers.map(&:json)
    assert_equal [{ "widgets" => 1 }], found.uniq
    assert_nothing_leaked(shared_server)
    serve(env: { "JOBS" => "async" }) do |server|
      assert_equal [200], names.map { |name| server.get("/widgets/later?name=#{name}").status }.uniq
      wait_until("the jobs have run") { server.get("/widgets").json == { "widgets" => names.size } }
    end
  end

  # The tag is the request's, whatever ran between its lines.
  def test_tagged_logs
    users = Array.new(10) { |index| "tagged#{index}" }
    RequestBurst.new(shared_server, users.map { |user| "/whoami?user=#{user}" })
    log = File.read(RailsApi::LOG)
    tags = users.map { |user| log.scan(/\[(\h{8}-\h{4}-\h{4}-\h{4}-\h{12})\] (begins|ends) #{user}$/) }
    assert_equal [%w[begins ends]], tags.map { |lines| lines.map(&:last) }.uniq
    assert_equal users.size, tags.map { |lines| lines.map(&:first).uniq }.uniq.size
    assert_equal [1], tags.map { |lines| lines.map(&:first).uniq.size }.uniq
  end

  private

  def upload(server, index)
    picture = "picture\"; filename=\"a.bin\"\r\nContent-Type: application/octet-stream\r\nX-A: \""
    parts = { "name" => "n#{index}", picture => FILE }.map do |name, value|
      "--cut\r\nContent-Disposition: form-data; name=\"#{name}\"\r\n\r\n".b + value.b + "\r\n"
    end
    body = parts.join + "--cut--\r\n"
    server.request("POST", "/files",
                   headers: { "Content-Type" => "multipart/form-data; boundary=cut" }, body: body).json
  end
end
