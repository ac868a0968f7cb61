# frozen_string_literal: true

# An app whose requests each wait 0.4 s in another way of the standard library.
require "net/http"
require "open3"
require "tempfile"
require "timeout"

class WaitsApp < Elah::API
  SECONDS = 0.4

  format :txt

  get(:hello) { "hello" }
  get("sleep/:ms") { sleep(params[:ms].to_i / 1000.0) && "slept" }

  resource :wait do
    get(:sleep) { sleep(SECONDS) && "done" }
    get(:system) { system("sleep", SECONDS.to_s) && "done" }
    get(:backtick) { `sleep #{SECONDS}; echo done`.chomp }
    get(:thread) { Thread.new { sleep(SECONDS) && "done" }.value }

    get(:queue) do
      queue = Thread::Queue.new
      Thread.new { sleep(SECONDS) && queue << "done" }
      queue.pop
    end

    get(:queue_timeout) do
      queue = Thread::Queue.new
      if RUBY_VERSION < "3.2"
        begin
          Timeout.timeout(SECONDS) { queue.pop }
        rescue Timeout::Error
          "done"
        end
      else
        queue.pop(timeout: SECONDS) || "done"
      end
    end

    get(:condition_variable) do
      mutex = Mutex.new
      changed = ConditionVariable.new
      is_done = false
      Thread.new { sleep(SECONDS) && mutex.synchronize { (is_done = true) && changed.signal } }
      mutex.synchronize { changed.wait(mutex, 10) until is_done }
      "done"
    end

    get(:mutex) do
      mutex = Mutex.new
      locked = Thread::Queue.new
      Thread.new { mutex.synchronize { (locked << true) && sleep(SECONDS) } }
      locked.pop
      mutex.synchronize { "done" }
    end

    get(:file_lock) do
      Tempfile.create do |file|
        locked = Thread::Queue.new
        Thread.new { File.open(file) { |holder| holder.flock(File::LOCK_EX) && (locked << true) && sleep(SECONDS) } }
        locked.pop
        file.flock(File::LOCK_EX) && "done"
      end
    end

    get(:pipe) do
      reader, writer = IO.pipe
      Thread.new { sleep(SECONDS) && writer.write("done") && writer.close }
      reader.read
    end

    get(:net_http) do
      host, port = request.host.split(":")
      Net::HTTP.start(host, port, read_timeout: 5) { |http| http.get("/sleep/400").body.sub("slept", "done") }
    end

    get(:io_select) do
      reader, _writer = IO.pipe
      IO.select([reader], nil, nil, SECONDS).nil? && "done"
    end

    get(:timeout) do
      Timeout.timeout(SECONDS) { sleep(5) }
    rescue Timeout::Error
      "done"
    end
  end

  get(:kernel_select) do
    reader, writer = IO.pipe
    Thread.new { sleep(SECONDS) && writer.write("x") }
    select([reader], [], [], 5) == [[reader], [], []] && "done"
  end

  get(:select_many) do
    pipes = Array.new(100) { IO.pipe }
    Thread.new { sleep(SECONDS) && pipes[70].last.write("x") }
    ready, = IO.select(pipes.map(&:first), nil, nil, 5)
    ready == [pipes[70].first] && "done"
  ensure
    pipes.flatten.each(&:close)
  end

  get(:name) { Addrinfo.tcp("localhost", 80).ip_address }
end

run WaitsApp
