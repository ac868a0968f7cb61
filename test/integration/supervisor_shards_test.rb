# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Shards that change their workers, because there are more of them or fewer.
class SupervisorShardsTest < Minitest::Test
  include SupervisedCase
  def test_workers_come_and_go_and_shards_with_them
    supervised do |server|
      server.signal(:TTIN)
      wait_for_workers(server, 3)
      wait_until("the third has its shards") { workers(server).map { |worker| worker[:shards] }.sort == [85, 85, 86] }
      # Two at once may arrive as one.
      server.signal(:TTOU)
      server.wait_for(/The number of workers is 2/)
      server.signal(:TTOU)
      server.wait_for(/The number of workers is 1/)
      wait_for_workers(server, 1)
      assert_equal([256], workers(server).map { |worker| worker[:shards] })
      server.signal(:TTOU)
      server.wait_for(/There is only one worker: ignoring TTOU/)
      assert_equal "hello", server.get("/").body
    end
  end

  # It was told to hand shards over, and ended with a TypeError when it was ready: again at each change.
  def test_the_number_of_workers_changes_while_one_boots
    Dir.mktmpdir do |folder|
      gate = File.join(folder, "gate")
      config = "before_worker_boot { warn('a worker boots') && sleep(0.01) while File.exist?(#{gate.inspect}) }"
      supervised_with_config(config, APP) do |server|
        FileUtils.touch(gate)
        Process.kill(:KILL, workers(server).last[:pid])
        server.wait_for(/a worker boots/)
        server.signal(:TTOU)
        server.wait_for(/The number of workers is 1/)
        FileUtils.rm(gate)
        wait_for_workers(server, 1)
        assert_equal "hello", server.get("/").body
        refute_match(/TypeError|Failure \d/, server.log)
      end
    end
  end

  # The only one that served was stopped.
  def test_the_number_of_workers_stays_while_the_others_fail_to_boot
    supervised_with_config("before_worker_boot { raise 'no database' if File.exist?(BROKEN) }") do |server, broken|
      File.write(broken, "")
      Process.kill(:KILL, workers(server).first[:pid])
      server.wait_for(/Failure 2 in a row/)
      server.signal(:TTOU)
      server.wait_for(/No other worker is ready: there are still 2 workers/)
      assert_equal "hello", server.get("/").body
    end
  end

  def test_what_a_worker_hands_over_is_handed_over_before_others_own_it
    app = <<~RUBY
      class Api < Elah::API
        get("/") { "hello" }
      end
      run Api
    RUBY
    config = <<~RUBY
      before_worker_boot do
        place = Elah::Placement.current
        place.before_release do |terms|
          sleep 0.05
          owners = terms.keys.map { |shard| place.owner_of(shard) }.uniq
          $stderr.puts "slot \#{place.slot} hands \#{terms.size} shards over, owned by \#{owners.inspect}"
        end
      end
    RUBY
    supervised_with_config(config, app) do |server|
      server.signal(:TTIN)
      handed_over = Array.new(2) do |slot|
        server.wait_for(/slot (#{slot}) hands 4[23] shards over, owned by (.*)$/).captures
      end
      assert_equal [["0", "[0]"], ["1", "[1]"]], handed_over
    end
  end

  def test_a_worker_that_does_not_hand_over_in_time_loses_its_shards
    config = "before_worker_boot { Elah::Placement.current.before_release { sleep } }"
    supervised_with_config(config, handover_seconds: 0.1) do |server|
      server.signal(:TTOU)
      server.wait_for(/did not hand over within 0\.1 s/)
      wait_for_workers(server, 1)
      assert_equal 256, workers(server).first[:shards]
    end
  end
end
