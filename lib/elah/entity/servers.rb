# frozen_string_literal: true

require "etc"

module Elah
  class Entity
    # Which servers have entities of a store's folder in memory. Each has a file there, which its processes hold locked for as long as they live,
    # so that a second server, or a script, is told of the first.
    class Servers
      @all = {}

      class << self
        # @param dir [String] of a store
        # @return [Servers]
        def of(dir) = @all[dir] ||= new(dir)

        # Forgets all, in a fork: the locks are the parent's.
        def reset_all
          @all.each_value(&:forget)
          @all.clear
        end
      end

      # @param dir [String]
      def initialize(dir)
        @dir = dir
        @told = []
        @file = nil
      end

      # Notes that this process has entities in memory. A folder in which it cannot does without.
      def enter
        @file ||= lock(own_path)
      rescue SystemCallError
        nil
      end

      # Says in the log, once for each of them, that other servers have entities in memory.
      def warn_of_others
        (others - @told).each do |path|
          @told << path
          Log.current.warn(warning(path))
        end
      end

      # Closes what a fork has inherited.
      def forget
        @file&.close
        @file = nil
      end

      private

      def own_path = File.join(@dir, "entities-#{Placement.current.server_id}@#{Etc.uname[:nodename]}.lock")

      def others = (Dir[File.join(@dir, "entities-*.lock")] - [own_path]).select { |path| locked?(path) }

      # Whoever removes a file that nobody has locked may come between its making and its locking.
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

      # Removes the file when nobody has locked it.
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
