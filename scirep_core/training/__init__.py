"""Trained weights: from settings and training sets to a model, by one visible loop (`scirep_core.training.loop`).

config        the settings of one training, from a file or a chapter's parameters       SciRepEval 5, appendix D
data/         training sets as token ids and targets                                    SciRepEval 3, 4.1; SciMult 3.1
batching      which rows of which task a step sees                                      SciRepEval 5, appendix B
losses, objective                                         what is minimised             SciRepEval 4.2; SciMult 3.4
processes, checkpoint                                      the loop under torchrun, and stopping and going on
base          the small base of the embedded literature: word pieces, PPMI vectors, citation triplets
sets          what a file or a variant trains on, by source
variants      the rows of the papers' tables as data                   models      the trained model of each, made once
"""
