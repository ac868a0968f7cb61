# frozen_string_literal: true

require "timeout"

module Elah
  module Adapters
    module ActiveRecord
      # The handling of a connection whose fiber was cancelled while it waited for a reply. The statement is ended on the server, so that neither
      # the ROLLBACK nor the next request waits for it.
      module Interruption
        # Prepended to AbstractAdapter, which treats every exception during a query as the driver's.
        module Untranslated
          private

          def translate_exception_class(exception, *) = exception.is_a?(Elah::Error) ? exception : super
        end

        # Prepended to PostgreSQLAdapter. ActiveRecord 7.1 and later cancel before a ROLLBACK by themselves; then there is nothing to end.
        module PostgreSQL
          # Time limit for the server to end a statement; after it the connection is closed, which ends the transaction too.
          CANCEL_SECONDS = 2

          def exec_rollback_db_transaction
            settled? ? super : disconnect!
          end

          # Sends the end of the session first. Otherwise the server would be asked to close prepared statements, and might not reply.
          def disconnect!
            raw&.close unless raw&.finished? || raw&.transaction_status == ::PG::PQTRANS_IDLE
            super
          end

          # @return [Boolean]
          def idle? = settled? && raw.transaction_status == ::PG::PQTRANS_IDLE

          private

          # ActiveRecord 7.1 and later configure a connection that the pool has lent already. One that was left halfway is closed, for the next
          # task would take it as configured.
          def configure_connection
            super
          rescue Exception # also the cancellation of the task
            disconnect!
            raise
          end

          def settled?
            return false if raw.nil? || raw.finished? || raw.status != ::PG::CONNECTION_OK

            end_statement if raw.transaction_status == ::PG::PQTRANS_ACTIVE
            raw.transaction_status != ::PG::PQTRANS_ACTIVE
          rescue ::PG::Error, SystemCallError, Timeout::Error
            false
          end

          def end_statement
            Timeout.timeout(CANCEL_SECONDS) do
              raw.cancel
              raw.get_last_result
            end
          rescue ::PG::QueryCanceled
            nil # the expected result of the cancellation
          end

          def raw = @raw_connection || @connection
        end

        # Prepended to Mysql2Adapter. mysql2 closes a connection itself when its reply is no longer awaited.
        module MySQL
          def exec_rollback_db_transaction
            super if settled?
          end

          # @return [Boolean]
          def idle? = settled? && super

          private

          # ActiveRecord 7.1 and later connect with the first statement.
          def settled? = !raw.nil? && !raw.closed?

          def raw = @raw_connection || @connection
        end

        BY_DRIVER = { "PostgreSQL" => PostgreSQL, "PostGIS" => PostgreSQL, "Mysql2" => MySQL }.freeze

        # A driver's class is loaded with its first connection, which may be later than the app.
        #
        # @param adapter [Class] of ActiveRecord
        def self.fit(adapter)
          interruption = BY_DRIVER[adapter::ADAPTER_NAME]
          adapter.prepend(interruption) if interruption && !(adapter < interruption)
        end
      end
    end
  end
end
