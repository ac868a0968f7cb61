# frozen_string_literal: true

require_relative "offload/pool"

module Elah
  # Runs work on Ruby threads while only the calling fiber waits: for libraries that block the loop. It helps with waiting, not with computing: Ruby
  # runs one thread at a time, and C code that keeps Ruby's lock keeps it here too.
  module Offload
    class << self
      # The pool of this process, sized by the options `offload_threads` and `offload_queue_max`.
      #
      # @return [Pool]
      def default = @default ||= Pool.new(threads: Elah.config.offload_threads, queue_max: Elah.config.offload_queue_max)

      # Moves methods of a class to a pool, for callers in a fiber of the loop. A block that is passed to them runs in the thread too.
      #
      #   Elah::Offload.wrap(Mongo::Collection, :insert_one, :insert_many)
      #
      # @param owner [Module] the module that has the methods, or inherits them
      # @param names [Array<Symbol>]
      # @param pool [Pool, nil] nil uses the default pool
      # @return [Module] the prepended module
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
