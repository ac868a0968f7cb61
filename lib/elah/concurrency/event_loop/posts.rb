# frozen_string_literal: true

module Elah
  class EventLoop
    # Handle to the loop that any thread or signal trap may use.
    module Posts
      # Makes the current iteration return. May be called from a trap or another thread.
      def interrupt = @handle.interrupt

      # Ends a wait. May be called from a trap or another thread.
      #
      # @param id [Integer] from {#new_wait}
      def end_wait(id) = @handle.end_wait(id)

      # Blocks the calling thread, which must not be the loop's, until the loop's thread has run Ruby code for too long.
      #
      # @param seconds [Float] the time that counts as too long
      # @return [Float, nil] the elapsed seconds; nil when the thread was stopped meanwhile
      def wait_for_stall(seconds) = @handle.wait_for_stall(seconds)

      # Calls the block in the loop itself, in its next iteration, at the latest when the loop ends. May be called from any thread and from a trap.
      # The block must not wait.
      def post(&block)
        @posted << block
        end_wait(@posts)
      end

      private

      # One wait serves all posts of an iteration, and the next iteration has a new one. So what a block posts runs after the tasks that the block has
      # woken.
      def expect_posts
        @posts = new_wait
        after_wait(@posts) do
          expect_posts # before the calls: a thread that ends the old wait has added its block already
          @posted.size.times { call_here(@posted.shift) }
        end
      end

      def call_last_posted
        call_here(@posted.shift) until @posted.empty?
      end
    end
  end
end
