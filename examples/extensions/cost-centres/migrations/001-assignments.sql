-- Departments and projects are known by their numbers: tables of the host are never referenced.
CREATE TABLE assignment (
  id              integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organisation_id integer NOT NULL,
  kind            text    NOT NULL CHECK (kind IN ('department', 'project')),
  number          integer NOT NULL CHECK (number > 0),
  cost_centre     text    NOT NULL CHECK (length(cost_centre) BETWEEN 1 AND 20),
  UNIQUE (organisation_id, kind, number)
);

-- A month that is over, as it was reported: later assignments do not rewrite it.
CREATE TABLE report (
  organisation_id integer       NOT NULL,
  month           date          NOT NULL,
  cost_centre     text          NOT NULL,
  requests        bigint        NOT NULL,
  cost_usd        numeric(28,9) NOT NULL,
  PRIMARY KEY (organisation_id, month, cost_centre)
);
