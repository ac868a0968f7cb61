# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/patience"
require "support/store_process"
require "fileutils"
require "tmpdir"

# A store that accepts no writes makes its server unready, with the reason; the log says when that begins and when it
# ends, once each.
class StoreReadinessTest < Minitest::Test
  include Patience

  BYTES_MAX = 4 * 1024 * 1024
  APPS = File.expand_path("../../apps", __dir__)

  # Fills the store until not even a small value fits, says so, and makes room when it is told to.
  FILLER = <<~RUBY
    store = Elah::Store.open(ARGV[0], bytes_max: #{BYTES_MAX})
    table = store.table("filler")
    number = 0
    [100_000, 10_000, 1000].each do |bytes|
      loop { table.put("k\#{number += 1}", "x" * bytes) }
    rescue Elah::Store::Full
      nil
    end
    say "full"
    $stdin.gets
    table.range(limit: 1_000_000).each { |key, _| table.delete(key) }
    say "empty"
  RUBY

  def setup = @folder = Dir.mktmpdir("elah-full")
  def teardown = FileUtils.remove_entry(@folder)

  def with_full_store(dir)
    command = [RbConfig.ruby, "-I#{StoreProcess::LIB}", "-e", StoreProcess::PRELUDE + FILLER, dir]
    IO.popen(command, "r+") do |filler|
      assert_equal "full", filler.gets&.chomp
      yield
      filler.puts
      assert_equal "empty", filler.gets&.chomp
    end
  end

  def lines(server, pattern) = server.log.lines.grep(pattern)

  %w[items leaderboards links ring_pools stats].each do |app|
    define_method(:"test_#{app}_is_unready_while_its_store_is_full") do
      ElahServer.start(File.join(APPS, app, "app.rb"), data: @folder, store_bytes_max: BYTES_MAX) do |server|
        assert_equal 200, server.get("/readyz").status
        with_full_store(File.join(@folder, app)) do
          wait_until { server.get("/readyz").status == 503 }
          answer = server.get("/readyz")
          assert_match(/The store is full: its file has reached bytes_max/, answer.body)
          assert_equal 200, server.get("/livez").status
          server.wait_for(/accepts no writes/)
          5.times { server.get("/readyz") }
        end
        wait_until { server.get("/readyz").status == 200 }
        server.wait_for(/accepts writes again/)
        assert_equal ["ERROR"], lines(server, /accepts no writes/).map { |line| line[/ERROR|WARN|INFO/] }, server.log
        assert_equal 1, lines(server, /accepts writes again/).size
      end
    end
  end

  APP = <<~RUBY
    require "elah"
    TABLE = Elah::Store.open(File.join(Elah.config.data, "s"), bytes_max: #{BYTES_MAX}).table("t")
    class App < Elah::API
      format :json
      post("/put/:bytes") { TABLE.put("k", "x" * params[:bytes].to_i) }
      get("/readyz") { Elah::Store.check_ready || "ready" }
    end
    run App
  RUBY

  # The option had no effect on a store that is opened without `bytes_max:`, as the docs open it, and the job could not
  # open the store of an app that passes the option on.
  def test_the_option_limits_the_stores_of_an_app_and_of_its_jobs
    app = <<~RUBY
      require "elah"
      TABLE = Elah::Store.open(Elah.config.state("s")).table("t")
      MAIN = Elah::Store.open(Elah.config.state, bytes_max: Elah.config.store_bytes_max)
      class App < Elah::API
        format :json
        post("/put/:bytes") { TABLE.put("k", "x" * params[:bytes].to_i) }
        post("/job") { Elah.every(60, once: "job") { nil } && { ok: true } }
      end
      run App
    RUBY
    ElahServer.start(app, data: @folder, store_bytes_max: BYTES_MAX) do |server|
      assert_equal 507, server.request("POST", "/put/6000000").status
      assert_equal 201, server.request("POST", "/job").status
    end
  end

  def test_a_write_that_is_refused_is_enough_and_the_server_finds_out_by_itself_that_there_is_room
    ElahServer.start(APP, data: @folder) do |server|
      assert_equal 201, server.request("POST", "/put/10").status
      with_full_store(File.join(@folder, "s")) do
        assert_equal 507, server.request("POST", "/put/200000").status
        full = /The store is full: its file has reached bytes_max\./
        server.wait_for(%r{The store in #{@folder}/s accepts no writes: #{full}})
      end
      server.wait_for(%r{The store in #{@folder}/s accepts writes again})
    end
  end

  def test_one_write_that_is_too_large_makes_no_store_unready
    ElahServer.start(APP, data: @folder) do |server|
      3.times { assert_equal 507, server.request("POST", "/put/6000000").status }
      assert_equal 201, server.request("POST", "/put/10").status
      assert_empty lines(server, /accepts no writes/)
    end
  end

  # It accepted writes, and said that it was ready, while the path led nobody else to them.
  def test_a_store_whose_folder_is_moved_away_accepts_no_writes
    ElahServer.start(APP, data: @folder) do |server|
      dir = File.join(@folder, "s")
      put = -> { server.request("POST", "/put/10").status }
      assert_equal 201, put.call
      FileUtils.mv(dir, "#{dir}.away")
      FileUtils.mkdir(dir)
      assert_equal [503, 503], [put.call, server.get("/readyz").status]
      assert_match(/The folder of the store was removed or replaced/, server.get("/readyz").body)
      server.wait_for(/The store in #{dir} accepts no writes: The folder of the store was removed or replaced/)
      FileUtils.rmdir(dir)
      FileUtils.mv("#{dir}.away", dir)
      assert_equal [200, 201], [server.get("/readyz").status, put.call]
      server.wait_for(/The store in #{dir} accepts writes again/)
    end
  end

  def test_a_store_that_is_opened_again_is_the_one_that_is_there
    lines, status, = StoreProcess.run(<<~RUBY, File.join(@folder, "data"))
      require "fileutils"
      store = Elah::Store.open(ARGV[0])
      store.table("t").put("k", "v")
      FileUtils.rm_r(ARGV[0])
      attempt("removed") { store.table("t").put("k", "w") }
      store.close
      store = Elah::Store.open(ARGV[0])
      attempt("put") { store.table("t").put_new("k", "v") }
    RUBY
    assert_predicate status, :success?
    assert_equal ["removed Elah::Store::Failed", "put true"], lines
  end

  def test_a_store_whose_disk_failed_is_not_ready_until_it_is_opened_again
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    data = File.join(@folder, "data")
    lines, status, = StoreProcess.trace(<<~RUBY, data, trace: "fdatasync", inject: "fdatasync:error=EIO:when=4+")
      store = Elah::Store.open(ARGV[0])
      table = store.table("links")
      attempt("new") { Elah::Store.check_ready }
      attempt("put") { loop { table.put("k", "v") } }
      attempt("failed") { Elah::Store.check_ready }
      say Elah::Store.troubles.fetch(store.dir)[/The disk failed: .*Input.output error/].nil?
      store.close
      attempt("closed") { Elah::Store.check_ready }
    RUBY
    assert_predicate status, :success?, lines.join("\n")
    assert_equal ["new nil", "put Elah::Store::Failed", "failed Elah::Store::NotReady"], lines.shift(3)
    assert_equal ["false", "closed nil"], lines
  end
end
