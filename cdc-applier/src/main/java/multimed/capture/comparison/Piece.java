package multimed.capture.comparison;

import java.util.List;

/**
 * Rows of a table that are next to each other in the order of its primary key.
 *
 * @param after literals of the key that the piece begins behind; null: it begins with the first row
 * @param upTo literals of the last key that may be in it; null: it has no end
 * @param waits whether its rows' locks are worth a wait; else who can't have one at once gives up
 */
record Piece(List<String> after, List<String> upTo, boolean waits) {}
