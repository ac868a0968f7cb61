# frozen_string_literal: true

require "etc"

module Elah
  class Entity
    # The servers that have entities of a store's folder in memory, or fire their timers. Each has a file there, which its processes keep locked
    # while they live. So a second server, or a script, can find the first.
    class Servers
      @all = {}

      class << self
        # @param dir [String] of a store
        # @param what [String] what they have in common: "entities" in memory, or "timers" that they fire
        # @return [Servers]
        def of(dir, what = "entities") = @all[[dir, what]] ||= new(dir, what)

        # This process is none of them any more.
        #
        # @param dir [String]
        # @return [nil]
        def leave(dir)
          @all.each { |(of, _), servers| servers.forget if of == dir }
          nil
        end

        # Drops all, in a fork: the locks belong to the parent.
        def reset_all
          @all.each_value(&:forget)
          @all.clear
        end
      end

      # @param dir [String]
      # @param what [String]
      def initialize(dir, what)
        @dir = dir
        @what = what
        @told = []
        @file = nil
      end

      # Records that this process is one of them. If the folder is not writable, it records nothing.
      def enter
        @file ||= lock(own_path)
      rescue SystemCallError
        nil
      end

      # Logs, once for each of them, that other servers have entities in memory.
      def warn_of_others
        (others - @told).each do |path|
          @told << path
          Log.current.warn(warning(path))
        end
      end

      # Whether this server is the first of them: it alone fires timers, so that they do not take them from each other.
      #
      # @return [Boolean] also true when the folder is not writable, so that no server is recorded
      def first?
        enter
        return true unless @file

        own = [@file.mtime, own_path]
        others.none? { |path| ([File.mtime(path), path] <=> own).negative? }
      rescue SystemCallError # a file of another one that ends
        true
      end

      # Closes the file, which a fork has inherited, or whose store this process has closed.
      def forget
        @file&.close
        @file = nil
      end

      private

      def own_path = File.join(@dir, "#{@what}-#{Placement.current.server_id}@#{Etc.uname[:nodename]}.lock")

      def others = (Dir.glob("#{@what}-*.lock", base: @dir).map { |name| File.join(@dir, name) } - [own_path]).select { |path| locked?(path) }

      # Another process may remove the file between its creation and its locking.
      def lock(path)
        loop do
          file = File.open(path, File::CREAT | File::RDWR)
          file.flock(File::LOCK_SH)
          file.write(File.basename($PROGRAM_NAME)) if file.size.zero?
          file.flush
          return file if File.identical?(file, path)

          file.close
        end
      end

      # Removes the file if no process has locked it.
      def locked?(path)
        File.open(path) do |file|
          return true unless file.flock(File::LOCK_EX | File::LOCK_NB)

          File.unlink(path)
          false
        end
      rescue SystemCallError
        false
      end

      def warning(path)
        name = File.basename(path)[/\Aentities-(.+)\.lock\z/, 1]
        "Process #{name} (#{program(path)}) has entities of #{@dir} in memory. Two processes that call them take them from each other, which " \
          "makes every call slow; entities with durability :memory lose their last changes. Stop one of the two, or call the entities " \
          "through the running server, by a route of its app. Tables of the store can be used by several processes."
      end

      def program(path)
        File.read(path, 256)
      rescue SystemCallError
        "?"
      end
    end
  end
end
