# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# What the next image of a server finds of the previous one: its own variables, and no run folder that a fork holds.
class RestartEnvironmentTest < Minitest::Test
  include SupervisedCase

  APP = <<~'RUBY'
    ENV["ELAH_QUEUE_MAX"] ||= "7"
    ENV["SET_BY_APP"] = "#{ENV['SET_BY_APP']}x"
    ENV.delete("GIVEN_FOR_LOADING")&.then { |text| GIVEN = text }
    class Api < Elah::API
      get("/") do
        [Elah.config.queue_max, Elah.config.environment, *ENV.values_at("RACK_ENV", "SET_BY_APP"), GIVEN].join(" ")
      end
      get("/fork") { fork { sleep }.to_s }
    end
    run Api
  RUBY

  ENVIRONMENT = { "RACK_ENV" => nil, "GIVEN_FOR_LOADING" => "given" }.freeze

  # What the app had set, as dotenv does, came before the config file: a server left its address for that of a PORT. And
  # RACK_ENV, which the server itself sets for the app, never changed again.
  [1, 2].each do |workers|
    define_method(:"test_#{workers}_restarts_with_the_variables_with_which_it_was_started") do
      Dir.mktmpdir do |folder|
        config = File.join(folder, "config.rb")
        File.write(config, "environment 'staging'\nqueue_max 5")
        supervised(APP, workers: workers, config: config, env: ENVIRONMENT) do |server|
          assert_equal "5 staging staging x given", server.get("/").body
          File.write(config, "environment 'production'\nqueue_max 6")
          server.signal(:HUP)
          server.wait_for(/(listening on.*){2}/m)
          assert_equal "6 production production x given", server.get("/").body
        end
      end
    end
  end

  # The lock in the run folder is that of the next image too, as long as the fork runs.
  def test_one_process_with_a_fork_that_outlives_it_has_its_run_folder_after_a_restart
    ElahServer.start(APP, env: ENVIRONMENT) do |server|
      child = server.get("/fork").body.to_i
      server.signal(:HUP)
      server.wait_for(/(listening on.*){2}/m)
      assert_equal 1, workers(server).size
      refute_match(/will not show this server/, server.log)
    ensure
      Process.kill(:KILL, child) if child
    end
  end
end
