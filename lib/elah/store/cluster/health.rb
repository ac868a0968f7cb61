# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # What this process reports of a cluster to its worker.
      module Health
        # @return [Hash{Symbol=>Integer}] what this process, which has joined, knows of the cluster
        # @api private
        def gauges
          members = membership.native.members.reject { |_, member| member[:fenced] }
          figures = membership.native.figures.transform_keys { |name| :"cluster_#{name}" }
          { cluster_processes: members.size, cluster_shards: members.dig(membership.native.writer, :shards) || 0,
            cluster_unowned_shards: membership.placement.shards - members.sum { |_, member| member[:shards] },
            cluster_unreachable: trouble ? 1 : 0, cluster_version: membership.native.spoken, **figures }
        end

        # @return [Array(String, String), nil] the URL, and why the database is known to accept no writes
        # @api private
        def trouble
          note_full
          (@database.trouble || @membership&.trouble)&.then { |reason| [dir, reason] }
        end

        # @return [Array<String>] what has happened to this process in the cluster since the last call
        # @api private
        def notes = @membership ? @membership.notes : []

        # @return [Array(String, String), nil] as {#trouble}, after a look
        # @api private
        def check
          note_full
          @database.check&.then { |reason| [dir, reason] }
        end

        private

        # Entities write past {#database}.
        def note_full
          @database.found_full if @membership&.full?
        end
      end

      private_constant :Health
    end
  end
end
