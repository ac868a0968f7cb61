# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "fileutils"
require "open3"
require "tmpdir"

# Two processes that call the same entities, as a server and a script on its data folder do: each is told of the other,
# and neither reads what is out of date.
class EntityProcessesTest < Minitest::Test
  ACCOUNT = <<~RUBY
    require "elah"
    class Account < Elah::Entity
      class Poor < Elah::Entity::Refusal; end
      def restore = @balance = state.get("balance").to_i
      attr_reader :balance
      def deposit(amount) = state.put("balance", (@balance += amount).to_s) || @balance
      def withdraw(amount) = amount > @balance ? raise(Poor, "The balance is \#{@balance}.") : deposit(-amount)
    end
  RUBY

  APP = <<~RUBY
    #{ACCOUNT}
    ACCOUNTS = Account.in(Elah::Store.open(File.join(Elah.config.data, "bank")))
    class Bank < Elah::API
      format :json
      get("/:key") { { balance: ACCOUNTS[params[:key]].balance } }
      get("/:key/many") { { balance: ACCOUNTS.call_many([[params[:key], :balance]] * 3).last } }
      get("/:key/no") { { said: (ACCOUNTS[params[:key]].withdraw(1_000_000) rescue $!.message) } }
      post("/:key/:amount") { { balance: ACCOUNTS[params[:key]].deposit(params[:amount].to_i) } }
    end
    run Bank
  RUBY

  def setup = @folder = Dir.mktmpdir("elah-bank")
  def teardown = FileUtils.remove_entry(@folder)

  # What a script prints, and what it writes to its standard error.
  def script(text)
    out, err, status = Open3.capture3(RbConfig.ruby, "-Ilib", "-e",
                                      "#{ACCOUNT}\naccounts = Account.in(Elah::Store.open(ARGV[0]))\n#{text}",
                                      File.join(@folder, "bank"))
    assert_predicate status, :success?, err
    [out.chomp, err]
  end

  def serve(**options, &block) = ElahServer.start(APP, data: @folder, **options, &block)

  [1, 2].each do |workers|
    define_method(:"test_a_server_of_#{workers}_workers_reads_what_a_script_has_written") do
      serve(workers: workers) do |server|
        assert_equal 201, server.request("POST", "/ann/10").status
        [["", 5], ["/many", 16]].each do |way, amount|
          before = server.get("/ann").json["balance"]
          assert_equal (before + amount).to_s, script("puts accounts['ann'].deposit(#{amount})").first
          assert_equal before + amount, server.get("/ann#{way}").json["balance"], "GET /ann#{way} after the script"
        end
        assert_equal "41", script("puts accounts['ann'].deposit(10)").first
        assert_equal "The balance is 41.", server.get("/ann/no").json["said"]
        assert_equal 42, server.request("POST", "/ann/1").json["balance"]
        assert_equal "42", script("puts accounts['ann'].balance").first
      end
    end
  end

  # It served, and said that it was ready, but each call of an entity failed.
  [1, 2].each do |workers|
    define_method(:"test_#{workers}_workers_do_not_start_with_another_number_of_shards") do
      ElahServer.start(APP, data: @folder, shards: 8) { |server| server.request("POST", "/a/1") }
      error = assert_raises(ElahServer::Failure) { ElahServer.start(APP, data: @folder, workers: workers, shards: 16) }
      assert_match(/is divided into 8 shards for good, and cannot be used with 16/, error.message)
      ElahServer.start(APP, data: @folder, workers: workers, shards: 8) do |server|
        assert_equal '{"balance":1}', server.get("/a").body
      end
    end
  end

  def test_a_script_that_goes_on_reads_what_the_server_has_written_meanwhile
    serve do |server|
      server.request("POST", "/ann/10")
      bank = File.join(@folder, "bank")
      Open3.popen2({}, RbConfig.ruby, "-Ilib", "-e", <<~RUBY, bank, err: File::NULL) do |input, output, _|
        #{ACCOUNT}
        accounts = Account.in(Elah::Store.open(ARGV[0]))
        $stdout.sync = true
        while $stdin.gets
          puts accounts["ann"].balance
        end
      RUBY
        3.times do |round|
          input.puts
          assert_equal (10 + round).to_s, output.gets.chomp
          server.request("POST", "/ann/1")
        end
        input.close
      end
    end
  end

  # A process that had closed its store stayed the first one on its folder: it fired no timers, and nobody else did.
  def test_another_process_fires_the_timers_of_a_store_that_was_closed
    bell = <<~RUBY
      require "elah"
      class Bell < Elah::Entity
        RUNG = Queue.new
        def set = wake_at(Time.now)
        def woken = RUNG << key
      end
      def ring(store, key) = Bell.in(store)[key].set || puts("\#{Bell::RUNG.pop} rang")
    RUBY
    other = "#{bell}\nElah.run { Elah.timeout(20) { ring(Elah::Store.open(ARGV[0]), 'second') } }"
    one = <<~RUBY
      #{bell}
      Elah.run do
        store = Elah::Store.open(ARGV[0])
        ring(store, "first")
        store.close
        print IO.popen([#{RbConfig.ruby.dump}, "-Ilib", "-e", ARGV[1], ARGV[0]], &:read)
      end
    RUBY
    out, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-e", one, File.join(@folder, "bells"), other)
    assert_equal ["first rang", "second rang"], out.lines(chomp: true), status.inspect
  end

  def test_a_script_is_told_which_process_has_the_entities_in_memory_and_what_to_do
    serve do |server|
      server.request("POST", "/ann/10")
      _, err = script("3.times { accounts['ann'].balance }")
      lines = err.lines.grep(/has entities of/)
      assert_equal 1, lines.size, err
      owner = /Process #{server.pid}@\S+ \(elah\) has entities of #{@folder}\/bank in memory/
      remedy = /Stop one of the two, or call the entities through the running server/
      assert_match(/WARN .*#{owner}.*#{remedy}/, lines.first)
    end
  end

  def test_a_second_server_says_at_its_start_that_there_is_a_first
    serve(workers: 2) do |first|
      first.request("POST", "/ann/10")
      serve(workers: 2) do |second|
        assert_equal 1, second.log.scan("Process #{first.pid}@").size, second.log
      end
    end
  end

  def test_processes_that_have_ended_are_told_of_to_nobody
    serve { |server| server.request("POST", "/ann/10") }
    killed = ElahServer.start(APP, data: @folder)
    killed.request("POST", "/ann/1")
    refute_match(/has entities of/, killed.log)
    killed.signal(:KILL)
    killed.wait_until_ended
    assert_equal ["11", ""], script("puts accounts['ann'].balance")
  ensure
    killed&.kill
  end

  # With two workers some of these entities live in the worker that is asked, and some in the other.
  [1, 2].each do |workers|
    define_method(:"test_what_cannot_be_copied_is_refused_in_the_same_words_by_#{workers}_workers") do
      app = APP.sub("class Bank < Elah::API\n", <<~RUBY)
        class Bank < Elah::API
          format :json
          rescue_from(Elah::Entity::NotSerializable) { |e| error!(e.message, 422) }
          get("/proc/:key") { ACCOUNTS[params[:key]].deposit(-> {}) }
          get("/answer/:key") { ACCOUNTS[params[:key]].hash_with_proc }
          get("/many") do
            calls = Array.new(8) { |key| [key.to_s, :deposit, key.odd? ? -> {} : 1] }
            { answers: ACCOUNTS.call_many(calls).map { |answer| answer.is_a?(Exception) ? answer.message : answer } }
          end
      RUBY
      app = app.sub("attr_reader :balance\n", "attr_reader :balance\n  def hash_with_proc = { a: -> {} }\n")
      ElahServer.start(app, data: @folder, workers: workers) do |server|
        8.times do |key|
          reason = /cannot be copied: no _dump_data is defined for class Proc/
          assert_match(/Account#deposit: argument 1 \(Proc\) #{reason}/, server.get("/proc/#{key}").body)
          assert_match(/Account#hash_with_proc: its result \(Hash\) #{reason}/, server.get("/answer/#{key}").body)
        end
        answers = server.get("/many").json["answers"]
        assert_equal [1] * 4, answers.values_at(0, 2, 4, 6)
        answers.values_at(1, 3, 5, 7).each do |answer|
          assert_match(/\AAccount#deposit: argument 1 \(Proc\) cannot be copied/, answer)
        end
      end
    end
  end

  def test_tables_of_the_store_are_used_from_several_processes_without_a_word
    serve do |server|
      server.request("POST", "/ann/10")
      out, err = script(<<~RUBY)
        notes = Elah::Store.open(ARGV[0]).table("notes")
        notes.put("k", "v")
        puts notes.get("k")
      RUBY
      assert_equal ["v", ""], [out, err]
      assert_equal 10, server.get("/ann").json["balance"]
      refute_match(/has entities of/, server.log)
    end
  end
end
