# frozen_string_literal: true

require "fileutils"
require_relative "server"

module Bench
  # What stands beside apps/stats in `bench/stats`, each on the server's core.
  module StatsContenders
    GO = "bench/apps/stats_go"
    SINATRA = "bench/apps/stats_sinatra.ru"
    PUMA_THREADS = 16

    module_function

    # Answers as apps/stats does, and records nothing.
    def bare(_stats) = Bench.bare_hyper(Links.new(Bench.work_directory))

    # Writes a line of JSON for each request to its access log.
    def nginx(_stats)
      folder = File.expand_path("nginx", Bench.work_directory)
      FileUtils.mkdir_p(folder)
      Server.new("nginx", core: SERVER_CORE, directory: Bench.work_directory) do |port|
        File.write(File.join(folder, "nginx.conf"), nginx_settings(folder, port))
        ["nginx", "-p", folder, "-c", "nginx.conf", "-e", File.join(folder, "error.log")]
      end
    end

    # Inserts each request into MariaDB before it answers.
    def go(stats)
      program = File.expand_path("stats_go", Bench.work_directory)
      system("go", "build", "-o", program, ".", chdir: GO) or raise "#{GO} was not built: is Go installed?"
      environment = { "DATABASE_URL" => stats.database(:mariadb), "GOMAXPROCS" => "1" }
      Server.new("go", core: SERVER_CORE, directory: Bench.work_directory, env: environment) { |port| [program, port.to_s] }
    end

    # Inserts each request behind MongoDB's protocol before it answers.
    def sinatra(stats)
      environment = { "MONGODB_URL" => stats.database(:mongodb), "PUMA_THREADS" => PUMA_THREADS.to_s }
      Server.new("sinatra", core: SERVER_CORE, directory: Bench.work_directory, env: environment) do |port|
        ["puma", "--quiet", "--environment", "production", "--threads", "#{PUMA_THREADS}:#{PUMA_THREADS}",
         "--bind", "tcp://127.0.0.1:#{port}", SINATRA]
      end
    end

    def nginx_settings(folder, port)
      <<~NGINX
        worker_processes 1;
        daemon off;
        pid #{folder}/pid;
        events { worker_connections 1024; }
        http {
          log_format record escape=json '{"ip":"$remote_addr","path":"$uri","params":"$args","agent":"$http_user_agent",'
            '"host":"$http_host","time":"$msec"}';
          access_log #{folder}/access.log record;
          keepalive_requests 1000000000;
          default_type application/json;
          server {
            listen 127.0.0.1:#{port};
            location = /stats {
              add_header Access-Control-Allow-Origin *;
              return 200 '{"durability":"memory"}';
            }
          }
        }
      NGINX
    end
    private_class_method :nginx_settings
  end
end
