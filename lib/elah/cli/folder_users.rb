# frozen_string_literal: true

module Elah
  module CLI
    # The processes that have files of a folder open.
    module FolderUsers
      class << self
        # @param folder [String]
        # @return [Array<String>] process IDs, with their command lines. A process of another user shows nothing, and is not among them
        def of(folder)
          inside = File.join(File.realpath(folder), "").b
          others = Dir["/proc/[0-9]*"].map { |process| process[/\d+/].to_i } - [Process.pid]
          others.select { |id| Dir["/proc/#{id}/fd/*"].any? { |descriptor| link(descriptor).b.start_with?(inside) } }.map { |id| named(id) }
        rescue SystemCallError
          [] # there is no such folder
        end

        private

        def link(descriptor)
          File.readlink(descriptor)
        rescue SystemCallError
          ""
        end

        def named(id)
          command = Text.utf8(File.binread("/proc/#{id}/cmdline").split("\0").first(3).join(" "))
          command.empty? ? "process #{id}" : "process #{id} (#{command})"
        rescue SystemCallError
          "process #{id}"
        end
      end
    end
  end
end
