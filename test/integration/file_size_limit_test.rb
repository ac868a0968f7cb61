# frozen_string_literal: true

require "test_helper"
require "support/elah_server"

# A server whose files may have so many bytes only (RLIMIT_FSIZE): a write beyond that fails like one to a full disk. It
# ended the process by SIGXFSZ.
class FileSizeLimitTest < Minitest::Test
  BYTES = 2_000_000

  APP = <<~RUBY
    TABLE = Elah::Store.open(File.join(Elah.config.data, "s")).table("t")
    class App < Elah::API
      format :txt
      post(:length) { request.body.bytesize.to_s }
      post("put/:key") { TABLE.put(params[:key], "x" * 100_000).to_s }
      get(:hello) { TABLE.size.to_s }
      get(:breaks) do
        File.write("log", "x" * #{BYTES})
        $stderr.reopen("log", "a") && "broken"
      end
    end
    run App
  RUBY

  [1, 2].each do |workers|
    define_method(:"test_requests_that_need_larger_files_fail_alone_with_#{workers}_workers") do
      limited = ["sh", "-c", "cd \"$0\" && exec prlimit --fsize=#{BYTES} \"$@\""]
      Dir.mktmpdir do |folder|
        ElahServer.start(APP, under: [*limited, folder], workers: workers) do |server|
          body = "x" * (BYTES + 100_000)
          answer = server.request("POST", "/length", body: body, headers: { "content-type" => "text/plain" })
          assert_equal [507, "spool_failed"], [answer.status, answer.body[/spool_failed/]]
          keys = (1..).take_while { |key| server.request("POST", "/put/#{key}").status == 201 }
          answer = server.request("POST", "/put/more")
          assert_equal [507, "store_full"], [answer.status, answer.body[/store_full/]]
          assert_equal "broken", server.get("/breaks").body if workers == 1
          assert_equal keys.size.to_s, server.get("/hello").body
          refute_match(/SIG|exited/, server.log)
        end
      end
    end
  end
end
