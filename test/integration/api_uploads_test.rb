# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "support/elah_server"
require "support/patience"

# The files of multipart uploads, over real sockets.
class APIUploadsTest < Minitest::Test
  include Patience

  API = <<~RUBY
    require "fileutils"

    class Uploads < Elah::API
      helpers { def received = params[:file][:tempfile] }

      post(:size) { received.size.to_s }
      post(:size_in_a_fiber) { Elah.async { received.size }.value.to_s << received.read }
      post(:content) { stream { |out| out << received.read } }
      post(:keep) { FileUtils.mv(received.path, "kept") && "kept" }
      post(:delete) { received.close!; "deleted" }
      post(:fails) { raise "after \#{received.size} bytes" }
    end
  RUBY
  NATIVE = "#{API}\nrun Uploads\n"
  BEHIND_RACK = "#{API}\nuse Struct.new(:app) { def call(env) = app.call(env) }\nrun Uploads\n"

  HEAD = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
  # The second file replaces the first, which ends with the request too.
  BODY = "#{HEAD}replaced\r\n#{HEAD}hello\r\n--b--\r\n".freeze
  RESPONSES = { "size" => "5", "size_in_a_fiber" => "5hello", "content" => "hello", "keep" => "kept",
                "delete" => "deleted" }.freeze

  # They stayed open and on disk until the garbage collector found them, which an idle server does not run.
  def test_the_files_of_an_upload_end_with_its_request
    [[NATIVE, ".rb"], [BEHIND_RACK, ".ru"]].each do |app, extension|
      Dir.mktmpdir do |folder|
        ElahServer.start(app, extension: extension, env: { "TMPDIR" => folder }) do |server|
          RESPONSES.each do |path, content|
            assert_equal [201, content], upload(server, path).then { |answer| [answer.status, answer.body] }, path
          end
          assert_equal 500, upload(server, "fails").status
          wait_until("no file is left") { Dir.empty?(folder) && open_files(server, folder).empty? }
          assert_equal "hello", File.read(File.join(server.folder, "kept"))
          refute_match(/ERROR(?!.*after 5 bytes)/, server.log)
        end
      end
    end
  end

  # Rack::TempfileReaper closes them.
  def test_under_another_server_they_are_those_of_the_environment
    uploads = Class.new(Elah::API) { post(:x) { params[:file][:tempfile].read } }
    env = { "REQUEST_METHOD" => "POST", "PATH_INFO" => "/x", "QUERY_STRING" => "", "rack.input" => StringIO.new(BODY),
            "CONTENT_TYPE" => "multipart/form-data; boundary=b", "CONTENT_LENGTH" => BODY.bytesize.to_s }
    assert_equal ["hello"], uploads.call(env).last
    assert_equal [8, 5], env["rack.tempfiles"].map(&:size)
    env["rack.tempfiles"].each(&:close!)
  end

  private

  def upload(server, path)
    server.request("POST", "/#{path}", headers: { "Content-Type" => "multipart/form-data; boundary=b" }, body: BODY)
  end

  def open_files(server, folder)
    links = Dir.children("/proc/#{server.pid}/fd").map { |name| File.readlink("/proc/#{server.pid}/fd/#{name}") }
    links.select { |link| link.start_with?(folder) }
  rescue Errno::ENOENT # closed meanwhile
    retry
  end
end
