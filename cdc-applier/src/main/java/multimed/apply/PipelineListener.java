package multimed.apply;

import multimed.log.LogEvent.Part;

/** Told by the pipeline's thread. */
interface PipelineListener {
    /** A packet of statements went out. */
    void sent();

    /** @param next the oldest that is still on its way, or null */
    void committed(Part part, Part next);

    /** A session is free, but this one must wait for an earlier transaction. Told again as long as it lasts. */
    void conflict(Part part);

    void retried(String reason);

    /** The pipeline has failed and will do nothing more. */
    void ended();
}
