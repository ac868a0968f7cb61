# frozen_string_literal: true

module Elah
  class EventLoop
    # What other threads and traps have the loop do.
    module Posts
      # Calls the block in the loop itself, soon, at the latest when the loop ends. May be called from any thread and from a trap. The
      # block must not wait.
      def post(&block)
        @posted << block
        end_wait(@posts)
      end

      private

      # One wait for all posts: it is armed anew whenever it has ended.
      def expect_posts
        @posts ||= new_wait
        after_wait(@posts) do
          expect_posts
          call_posted
        end
      end

      def call_posted
        @posted.shift.call until @posted.empty?
      end
    end
  end
end
