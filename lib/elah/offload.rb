# frozen_string_literal: true

require_relative "offload/pool"

module Elah
  # Work on threads of Ruby while only the calling fiber waits: for libraries that cannot wait through Ruby, and would hold the loop.
  # It helps with waiting, not with computing: Ruby runs one thread at a time, and C code that keeps Ruby's lock keeps it here too.
  module Offload
    class << self
      # The pool of this process, by the options `offload_threads` and `offload_queue_max`.
      #
      # @return [Pool]
      def default = @default ||= Pool.new(threads: Elah.config.offload_threads, queue_max: Elah.config.offload_queue_max)

      # Moves methods of a class to a pool, for whoever calls them in a fiber of the loop. A block that is given to them runs in
      # the thread too.
      #
      #   Elah::Offload.wrap(Mongo::Collection, :insert_one, :insert_many)
      #
      # @param owner [Module] that has the methods, or inherits them
      # @param names [Array<Symbol>]
      # @param pool [Pool, nil] nil is the default one
      # @return [Module] what was prepended
      # @raise [NameError] when there is no such method
      def wrap(owner, *names, pool: nil)
        visibilities = names.to_h { |name| [name, visibility(owner, name)] }
        moved = Module.new do
          visibilities.each do |name, visibility|
            define_method(name) do |*arguments, **options, &block|
              (pool || Offload.default).call { super(*arguments, **options, &block) }
            end
            send(visibility, name)
          end
        end
        owner.prepend(moved)
        moved
      end

      private

      def visibility(owner, name)
        owner.instance_method(name)
        %i[private protected].find { |visibility| owner.send(:"#{visibility}_method_defined?", name) } || :public
      end
    end
  end
end
